/** Builders for flags; `standard` is the default, `least` the smallest allowed value. */
import type { Setting } from "./value.ts";

/** A flag that takes text. */
export const textSetting = (flag: string, example: string, meaning: string, standard = ""): Setting<string> => {
  return { unit: "text", flag, standard, meaning, example };
};

/** A flag that takes a list. */
export const listSetting = (
  flag: string,
  example: string,
  meaning: string,
  standard: readonly string[] = [],
): Setting<readonly string[]> => ({ unit: "list", flag, standard, meaning, example });

/** A flag that takes a whole number. */
export const countSetting = (flag: string, standard: number, meaning: string, least = 0): Setting<number> => {
  return { unit: "count", flag, standard, meaning, least };
};

/** A flag that takes a duration, in milliseconds. */
export const durationSetting = (flag: string, standard: number, meaning: string, least = 0): Setting<number> => {
  return { unit: "duration", flag, standard, meaning, least };
};

/** A flag that takes true or false, or nothing for true. */
export const switchSetting = (flag: string, standard: boolean, meaning: string): Setting<boolean> => {
  return { unit: "switch", flag, standard, meaning };
};

/** A flag that takes one of some words. */
export const choiceSetting = <V extends string>(
  flag: string,
  choices: readonly V[],
  standard: V,
  meaning: string,
): Setting<V> => ({ unit: "choice", flag, standard, choices, meaning });
