/** Credentials in NATS addresses. */
import { expect, test } from "vitest";
import { readNatsAddresses } from "../../../services/platform/bus/nats.address.ts";

test("a password is URL-decoded", () => {
  expect(readNatsAddresses(["nats://me:50%25%40x@host"])).toMatchObject({ user: "me", password: "50%@x" });
});

test("a password with a bare % is refused in a line that hides it", () => {
  expect(() => readNatsAddresses(["nats://me:50%x@host:4222"])).toThrow(
    'NATS server "nats://***@host:4222": write % in its user, password or token as %25',
  );
});
