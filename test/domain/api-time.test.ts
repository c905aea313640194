/** Every instant can be written; only instants that the API can write can be read. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { INSTANT_MAX, INSTANT_MIN } from "../../protocols/bounds.ts";
import { apiMicroTime, apiTime, epochMsOf } from "../../services/domain/api-time.ts";

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/;

test("any number is written as an RFC 3339 instant", () => {
  const anyNumber = fc.oneof(fc.double(), fc.constantFrom(1e300, -1e300, 8.64e15, -8.64e15, Infinity, Number.NaN));
  fc.assert(
    fc.property(anyNumber, (epochMs) => RFC_3339.test(apiTime(epochMs)) && RFC_3339.test(apiMicroTime(epochMs))),
  );
});

test.each(["+275760-09-13T00:00:00Z", "9999-12-31T23:59:59-12:00", "-000001-12-31T23:59:59Z", "soon", ""])(
  "%s is no instant of the API",
  (time) => {
    expect(epochMsOf(time)).toBeNull();
  },
);

test("the first and the last instant of the API are read", () => {
  expect(epochMsOf("0000-01-01T00:00:00Z")).toBe(INSTANT_MIN);
  expect(epochMsOf("9999-12-31T23:59:59.999Z")).toBe(INSTANT_MAX);
});
