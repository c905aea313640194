/** Answers `vigil get` and `vigil explain` over NATS too, as a micro service that `nats micro ls` lists. */
import packageJson from "../../../package.json" with { type: "json" };
import { QUERIES, type QueryName, querySubject } from "../../../protocols/queries.ts";
import { token } from "../../../protocols/subjects.ts";
import { answerQuery } from "../../console/query.routes.ts";
import type { MicroAnswer, MicroService } from "../../platform/bus/nats.micro.ts";
import type { Controller, ControllerParts } from "../process/controller.ts";
import type { OpenBus } from "./process-bus.ts";

/** Answers queries from the ledger of a process until its bus is closed; does nothing in a process without one. */
export function answerQueries(
  bus: Pick<OpenBus, "serve">,
  { cluster, member }: Pick<ControllerParts, "cluster" | "member">,
  { ledger }: Pick<Controller, "ledger">,
): void {
  if (ledger === null) return;
  const names = Object.keys(QUERIES) as QueryName[];
  const service: MicroService = {
    name: "vigil",
    id: token(member),
    version: packageJson.version,
    description: packageJson.description,
    metadata: { cluster, member },
    endpoints: names.map((name) => ({
      name,
      subject: querySubject(cluster, name),
      metadata: { purpose: QUERIES[name].purpose },
      answer: async (payload): Promise<MicroAnswer> => {
        const answer = await answerQuery(name, payload, ledger);
        return "document" in answer ? { payload: JSON.stringify(answer.document) } : answer;
      },
    })),
  };
  bus.serve(service);
}
