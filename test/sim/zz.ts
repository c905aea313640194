import { drawSwarm } from "./swarm.ts";
import { simulate } from "./simulate.ts";
console.log(simulate(855582199, drawSwarm(855582199, {})).problem);
