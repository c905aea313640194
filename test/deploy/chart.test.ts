/** The Helm chart's files: its README, its release and the files that it takes from elsewhere. It renders nothing. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CHART_FILES } from "../../deploy/helm/chart-files.ts";
import { chartValues, withSettingNames, withValuesTable } from "../../deploy/helm/values-table.ts";
import { IMAGES_OF_OTHERS } from "../support/docker.ts";

const ROOT = join(import.meta.dirname, "../..");
const CHART = join(ROOT, "deploy/helm/vigil");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test("its README has a row for each value; npm run fix writes it", () => {
  const page = read("deploy/helm/vigil/README.md");
  expect(withValuesTable(page)).toBe(page);
});

test("its settings are the flags of vigil run; npm run fix writes their names", () => {
  const schema = read("deploy/helm/vigil/values.schema.json");
  expect(withSettingNames(schema)).toBe(schema);
});

test("every value has a default", () => {
  expect(chartValues().filter(({ standard }) => standard === undefined)).toEqual([]);
});

test("a README without the markers is refused", () => {
  expect(() => withValuesTable("# Chart")).toThrow("the page needs <!-- values");
});

test("it has the version of the product", () => {
  const { version } = JSON.parse(read("package.json"));
  expect(parse(read("deploy/helm/vigil/Chart.yaml"))).toMatchObject({ version, appVersion: version });
});

describe("the files that it takes from elsewhere", () => {
  test.each(readdirSync(join(CHART, "files")))("%s is a copy; npm run fix writes it", (name) => {
    expect(read(`deploy/helm/vigil/files/${name}`)).toBe(read(CHART_FILES[name] ?? ""));
  });

  test("are no links, of which Helm warns", () => {
    const files = readdirSync(CHART, { recursive: true, withFileTypes: true });
    expect(files.filter((file) => file.isSymbolicLink())).toEqual([]);
  });
});

test("it installs the NATS of the manifests", () => {
  expect(parse(read("deploy/helm/vigil/values.yaml")).fleet.nats.image).toBe(IMAGES_OF_OTHERS.NATS_IMAGE);
});
