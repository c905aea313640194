/** The flags of `vigil playground`, apart from what it runs, because the help must load no cluster. */
import { durationSetting, switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { SERVED_API_SETTINGS } from "../apiserver/served-api.ts";
import { HOLLOW_SOCKET } from "../hollow/order.ts";

/** The flags of a playground. */
export const PLAYGROUND_SETTINGS = {
  serve: switchSetting("serve", false, "Keep the cluster up until interrupted, without a story."),
  interactive: switchSetting(
    "interactive",
    false,
    "Break things by keys instead of watching the story; needs a terminal.",
  ),
  socket: textSetting(
    "socket",
    "play.sock",
    "Socket on which the hollow nodes take orders, with --serve.",
    HOLLOW_SOCKET,
  ),
  pauseMs: durationSetting("pause", 3000, "Pause after each scene, to read and to use kubectl."),
  console: textSetting(
    "console",
    "127.0.0.1:8080",
    "Address of the dashboard; port 0 takes a free one.",
    "127.0.0.1:0",
  ),
  ...SERVED_API_SETTINGS,
} as const;

/** The values of the flags. */
export type PlaygroundSettings = Readonly<ValuesOf<typeof PLAYGROUND_SETTINGS>>;
