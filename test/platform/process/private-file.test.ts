/** Files with credentials, in a real folder. */
import { chmodSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { writePrivateFile } from "../../../services/platform/process/process.ts";

let path: string;

beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "vigil-test-")), "kubeconfig");
});

const modeOf = (file: string): number => statSync(file).mode & 0o777;

test("a new file is its owner's alone", () => {
  writePrivateFile(path, "token");
  expect(modeOf(path)).toBe(0o600);
  expect(readFileSync(path, "utf8")).toBe("token");
});

test("a file that others could read is replaced by one that they cannot", () => {
  writeFileSync(path, "old");
  chmodSync(path, 0o666);
  writePrivateFile(path, "token");
  expect(modeOf(path)).toBe(0o600);
  expect(readFileSync(path, "utf8")).toBe("token");
});

test("a link is not followed", () => {
  const target = `${path}-of-another`;
  writeFileSync(target, "old");
  symlinkSync(target, path);
  expect(() => writePrivateFile(path, "token")).toThrow("is a symbolic link; name the file that it leads to");
  expect(readFileSync(target, "utf8")).toBe("old");
});

test("a dangling link is not followed", () => {
  symlinkSync(`${path}-of-another`, path);
  expect(() => writePrivateFile(path, "token")).toThrow("symbolic link");
});

test("a device is written as it is", () => {
  expect(() => writePrivateFile("/dev/null", "token")).not.toThrow();
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
});
