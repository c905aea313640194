/** Carries out the keys of a user as scenes and faults. */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { MORTAL_MEMBER, restore, STEADY_MEMBER } from "./controls.ts";
import { PATIENT_ZONE } from "./policy.ts";
import type { Act } from "./scene.ts";
import { play, type StageIo } from "./stage.ts";
import { ARRIVAL } from "./story.ts";

/** What a director needs. */
export interface DirectorIo extends Omit<StageIo, "scenes"> {
  readonly random: Random;
  readonly acts: readonly Act[];
}

/** The keys, in one line of a terminal. */
export function legendOf(acts: readonly Act[]): string {
  return `1-${acts.length} scenes · s silence a node · k kill -9 · b blind · p policy · r repair all · q quit`;
}

/** Plays what a user selects. It begins with the arrival of the nodes. */
export class Director {
  readonly #io: DirectorIo;
  readonly #keys: ReadonlyMap<string, () => void>;
  #stopPlaying: Stop | null = null;

  constructor(io: DirectorIo) {
    this.#io = io;
    this.#keys = new Map([
      ...io.acts.map((act, index) => [String(index + 1), () => this.#act(act)] as const),
      ["s", () => this.#silence()],
      ["k", () => this.#toggleMember()],
      ["b", () => this.#toggleConnection()],
      ["p", () => this.#togglePolicy()],
      ["r", () => this.#repair()],
    ]);
    this.#play({ title: "", scenes: [ARRIVAL] }, () => io.say(`Press a key: ${legendOf(io.acts)}.`));
  }

  /** Does what a key means; another key does nothing. */
  press(key: string): void {
    this.#keys.get(key)?.();
  }

  stop(): void {
    this.#stopPlaying?.();
    this.#stopPlaying = null;
  }

  #act(act: Act): void {
    if (this.#stopPlaying !== null) {
      this.#io.say("A scene is being played; r ends it.");
      return;
    }
    this.#repairAll();
    this.#play(act, () => this.#io.say("That was it. Press another key."));
  }

  #play({ scenes }: Act, ended: () => void): void {
    this.#stopPlaying = play({ ...this.#io, scenes }, (missing) => {
      this.#stopPlaying = null;
      if (missing === null) ended();
      else this.#io.say(`The scene broke off: never saw ${missing}. r repairs everything.`);
    });
  }

  #silence(): void {
    const { narration, controls, random, say } = this.#io;
    const ready = [...narration.nodes.values()].filter(({ readiness }) => readiness === "ready");
    const { node } = ready[Math.floor(random() * ready.length)] ?? {};
    if (node === undefined) {
      say("No node is Ready that could fall silent.");
      return;
    }
    controls.nodes.stop({ names: [node] });
    say(`${node} loses its power.`);
  }

  #toggleMember(): void {
    const { controls, say } = this.#io;
    if (controls.state().isKilled) {
      controls.restart();
      say(`${MORTAL_MEMBER} starts again.`);
    } else {
      controls.kill();
      say(`kill -9 of ${MORTAL_MEMBER}. ${STEADY_MEMBER} takes over when no pulse of it has come for 3 s.`);
    }
  }

  #toggleConnection(): void {
    const { controls, say } = this.#io;
    if (controls.state().isBlind) {
      controls.unblind();
      say("Vigil reaches the API server again.");
    } else {
      controls.blind();
      say("Vigil is cut off from the API server. b connects it again.");
    }
  }

  #togglePolicy(): void {
    const { controls, say } = this.#io;
    if (controls.state().hasPolicy) {
      controls.removePolicy();
      say("The policy is deleted.");
    } else {
      controls.applyPolicy();
      say(`A policy is applied: the nodes of ${PATIENT_ZONE} may be silent for longer.`);
    }
  }

  #repair(): void {
    this.stop();
    this.#repairAll();
    this.#io.say("Everything is repaired: power, members, sight, policy and pods.");
  }

  #repairAll(): void {
    restore(this.#io.controls);
    this.#io.narration.evicted.clear();
  }
}
