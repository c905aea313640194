/** The ways in which a field can be unacceptable, in the real server's words. */

/** Why a field of an object is not valid, as one cause of a 422. */
export interface FieldProblem {
  readonly type:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueForbidden"
    | "FieldValueNotSupported"
    | "FieldValueTooLong"
    | "FieldValueDuplicate";
  readonly field: string;
  /** The sentence after the field's name. */
  readonly message: string;
}

/** A field that is missing. */
export function required(field: string, why = ""): FieldProblem {
  return { type: "FieldValueRequired", field, message: why === "" ? "Required value" : `Required value: ${why}` };
}

/** A field whose value is not allowed. */
export function wrong(field: string, value: unknown, why: string): FieldProblem {
  return { type: "FieldValueInvalid", field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

/** A field whose value is none of a few. */
export function unsupported(field: string, value: string, supported: readonly string[]): FieldProblem {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  };
}

/** A field that may not be changed so. */
export function forbiddenChange(field: string, why: string): FieldProblem {
  return { type: "FieldValueForbidden", field, message: `Forbidden: ${why}` };
}
