/** What each role of NATS may publish and subscribe to, by type of message. */
import { NATS_ROLES, permissionsOf } from "../../deploy/nats/roles.ts";
import { MESSAGES, type MessageType } from "../../protocols/messages.ts";
import { matches, patternOf, subjectOf } from "../../protocols/subjects.ts";

/** Every type of message. */
export const TYPES = Object.keys(MESSAGES) as MessageType[];

/** A subject of each type, as a service would publish on it. */
export const subjectFor = (type: MessageType) =>
  subjectOf(
    "prod",
    type,
    7,
    MESSAGES[type].keyNames.map(() => "n"),
  );
/** The pattern of a type, as a service would subscribe to it. */
export const patternFor = (type: MessageType) => patternOf("prod", type, 7, MESSAGES[type].keyNames.length);

/** The roles that may publish a type. */
export const sayers = (type: MessageType) =>
  NATS_ROLES.filter((role) => permissionsOf(role).publish.some((pattern) => matches(pattern, subjectFor(type))));
/** The roles that may subscribe to a type. */
export const hearers = (type: MessageType) =>
  NATS_ROLES.filter((role) => permissionsOf(role).subscribe.some((pattern) => matches(pattern, subjectFor(type))));
