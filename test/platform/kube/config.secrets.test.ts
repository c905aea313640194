/** A kubeconfig must not silently send a secret in the clear or trust any server. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  type KubeConfigOptions,
  KubeConfigProblem,
  loadKubeConfig,
} from "../../../services/platform/kube/auth/kubeconfig.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-kubeconfig-"));
const FILE = join(FOLDER, "config");
afterAll(() => rmSync(FOLDER, { recursive: true }));

/** The warning on a kubeconfig, or its problem. */
async function loaded(cluster: object, user: object, options: KubeConfigOptions = {}): Promise<unknown> {
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
  };
  writeFileSync(FILE, JSON.stringify(config));
  try {
    const { wire, warning } = await loadKubeConfig({ kubeconfig: FILE, ...options });
    wire.close();
    return warning;
  } catch (problem) {
    if (!(problem instanceof KubeConfigProblem)) throw problem;
    return problem.message;
  }
}

test.each([
  [{ token: "t" }],
  [{ username: "u", password: "p" }],
  [{ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "echo", args: ['{"status":{"token":"t"}}'] } }],
])("the secret of user %j goes to no http:// server unless that is asked for", async (user) => {
  const http = { server: "http://far.example" };
  expect(await loaded(http, user)).toBe(
    `kubeconfig ${FILE}, context c: the token or password of its user could be read on the way to http://far.example; ` +
      "give the server as https://, or give --allow-token-over-http",
  );
  expect(await loaded(http, user, { allowTokenOverHttp: true })).toBeNull();
  expect(await loaded({ server: "https://far.example" }, user)).toBeNull();
});

test("a user without a secret may use an http:// server", async () => {
  expect(await loaded({ server: "http://far.example" }, {})).toBeNull();
});

test("an unchecked server certificate gives a warning", async () => {
  const cluster = { server: "https://far.example", "insecure-skip-tls-verify": true };
  expect(await loaded(cluster, {})).toMatch(/^insecure-skip-tls-verify is set for https:\/\/far\.example /);
});
