/** What every container of compose.yaml gives up. It starts none: test/container/compose.real.test.ts does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

interface Service {
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly profiles: readonly string[];
}

const FILE = join(import.meta.dirname, "../../compose.yaml");
const { services } = parse(readFileSync(FILE, "utf8"), { merge: true }) as {
  services: Readonly<Record<string, Service>>;
};

describe.each(Object.entries(services))("the container %s", (_name, service) => {
  test("has no capability and can gain none", () => {
    expect(service.cap_drop).toEqual(["ALL"]);
    expect(service.security_opt).toEqual(["no-new-privileges:true"]);
  });

  test("cannot write its root, unless it stores metrics", () => {
    expect(service.read_only === true || service.profiles.join() === "watch").toBe(true);
  });
});
