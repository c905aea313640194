/** The growth curves: figures become points, points become a picture. */
import { expect, test } from "vitest";
import { panelsOf } from "./curves.ts";
import { figure } from "./figures.ts";
import { type Panel, svgOf } from "./svg.ts";

const PANEL: Panel = {
  title: "CPU <&>",
  xLabel: "nodes",
  yLabel: "cores",
  curves: [
    {
      name: "linear",
      points: [
        { x: 1_000, y: 0.01 },
        { x: 10_000, y: 0.1 },
        { x: 100_000, y: 1 },
      ],
    },
  ],
};

/** The points of the first curve as they are drawn. */
function drawn(svg: string): number[][] {
  const points = /<polyline [^>]*points="([^"]*)"/.exec(svg)?.[1] ?? "";
  return points.split(" ").map((pair) => pair.split(",").map(Number));
}

test("linear growth is drawn as a straight line, from the left and below to the right and above", () => {
  const [first = [], second = [], third = []] = drawn(svgOf([PANEL]));
  expect(second[0]).toBeCloseTo(((first[0] ?? 0) + (third[0] ?? 0)) / 2, 0);
  expect(second[1]).toBeCloseTo(((first[1] ?? 0) + (third[1] ?? 0)) / 2, 0);
  expect(third[0]).toBeGreaterThan(first[0] ?? 0);
  expect(third[1]).toBeLessThan(first[1] ?? 0);
});

test("axes are labelled, ticks are powers of ten, texts are escaped, and the dark scheme has its colour", () => {
  const svg = svgOf([PANEL]);
  for (const text of [
    ">nodes<",
    ">cores<",
    ">1k<",
    ">100k<",
    ">0.01<",
    ">CPU &lt;&amp;><",
    "<title>CPU &lt;&amp;></title>",
    "prefers-color-scheme",
  ]) {
    expect(svg).toContain(text);
  }
});

test("points are the figures of their bench by size, and what has no second point is left out", () => {
  const named = (name: string, value: number) => figure(name, "cores", [value]);
  const steady = {
    bench: "steady",
    load: "",
    figures: [
      named("20000 nodes, embedded API: CPU", 0.2),
      named("1000 nodes, embedded API: CPU", 0.01),
      named("1000 nodes, kube-apiserver 1.20.2: CPU", 0.02),
      named("1000 nodes, embedded API: CPU of API server with kubelets", 0.5),
      named("1000 nodes, embedded API: memory", 100),
    ],
  };
  const panels = panelsOf([steady, { ...steady, bench: "other" }]);
  expect(panels.map(({ yLabel }) => yLabel)).toEqual(["cores"]);
  const points = [
    { x: 1_000, y: 0.01 },
    { x: 20_000, y: 0.2 },
  ];
  expect(panels[0]?.curves).toEqual([{ name: "embedded API", points }]);
});
