/** The problems that a field can have, with the real server's messages. */

/** Why a field is invalid, as one cause of a 422. */
export interface FieldProblem {
  readonly type:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueForbidden"
    | "FieldValueNotSupported"
    | "FieldValueTooLong"
    | "FieldValueDuplicate";
  readonly field: string;
  /** The message after the field's name. */
  readonly message: string;
}

/** A field that is missing. */
export function required(field: string, why = ""): FieldProblem {
  return { type: "FieldValueRequired", field, message: why === "" ? "Required value" : `Required value: ${why}` };
}

/** A field with an invalid value. */
export function invalidField(field: string, value: unknown, why: string): FieldProblem {
  return { type: "FieldValueInvalid", field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

/** A field with an unsupported value. */
export function unsupported(field: string, value: unknown, supported: readonly unknown[]): FieldProblem {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  };
}

/** A field with a forbidden value or change. */
export function forbiddenValue(field: string, why: string): FieldProblem {
  return { type: "FieldValueForbidden", field, message: `Forbidden: ${why}` };
}
