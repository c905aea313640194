/** The terminal of this process as a screen: its size, its keys, and the alternate buffer that leaves no traces. */

/** An open screen. */
export interface Terminal {
  size(): { readonly columns: number; readonly rows: number };
  /** Replaces what the screen shows, line by line, without flicker. */
  draw(lines: readonly string[]): void;
  /** Restores the screen. */
  close(): void;
}

/** Receives the keys of a user and changes of the size. */
export interface TerminalListener {
  /** A character, or a name: `up`, `down`, `enter`, `escape`, `backspace`, `tab`, `interrupt`. */
  readonly key: (key: string) => void;
  readonly resized: () => void;
}

const ESCAPE = "\u001b";
const ENTER_SCREEN = `${ESCAPE}[?1049h${ESCAPE}[?25l`;
const LEAVE_SCREEN = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
const HOME = `${ESCAPE}[H`;
const CLEAR_LINE = `${ESCAPE}[K`;
const CLEAR_BELOW = `${ESCAPE}[J`;
/** The size where a terminal reports none. */
const STANDARD = { columns: 80, rows: 24 };

const NAMED_KEYS: ReadonlyMap<string, string> = new Map([
  [`${ESCAPE}[A`, "up"],
  [`${ESCAPE}OA`, "up"],
  [`${ESCAPE}[B`, "down"],
  [`${ESCAPE}OB`, "down"],
  ["\r", "enter"],
  ["\n", "enter"],
  [ESCAPE, "escape"],
  ["\u007f", "backspace"],
  ["\b", "backspace"],
  ["\t", "tab"],
  ["\u0003", "interrupt"],
]);

/** An escape sequence, or one character. */
const KEY = new RegExp(`${ESCAPE}(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])|[\\s\\S]`, "gu");

/** The keys in what a terminal sends; other escape sequences and control characters are left out. */
export function keysIn(input: string): string[] {
  const parts = input.match(KEY) ?? [];
  return parts.flatMap((part) => {
    const named = NAMED_KEYS.get(part);
    if (named !== undefined) return [named];
    return part.length > 2 || part < " " ? [] : [part];
  });
}

/** What redraws a screen: each line in place, then nothing below. */
export function drawn(lines: readonly string[]): string {
  return `${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join("\r\n")}${CLEAR_BELOW}`;
}

/** Opens the terminal of these streams as a screen; null where they are none. */
export function openTerminal(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  { key, resized }: TerminalListener,
): Terminal | null {
  if (input.isTTY !== true || output.isTTY !== true) return null;
  const take = (text: string): void => {
    for (const pressed of keysIn(text)) key(pressed);
  };
  input.setRawMode(true).setEncoding("utf8").on("data", take);
  output.on("resize", resized);
  output.write(ENTER_SCREEN);
  return {
    size: () => ({ columns: output.columns || STANDARD.columns, rows: output.rows || STANDARD.rows }),
    draw: (lines) => void output.write(drawn(lines)),
    close() {
      input.off("data", take).setRawMode(false).pause();
      output.off("resize", resized);
      output.write(LEAVE_SCREEN);
    },
  };
}
