/** The journey on the embedded API over HTTP, on both buses. */
import { describe } from "vitest";
import { describeWithNats } from "../support/nats-programs.ts";
import { journey } from "./journey.ts";
import { embeddedApi, memoryBus, natsBus } from "./worlds.ts";

describe("on the embedded API and the memory bus", () => journey(embeddedApi, memoryBus, { hasBusServer: false }));

describeWithNats("on the embedded API and nats-server", () => journey(embeddedApi, natsBus, { hasBusServer: true }));
