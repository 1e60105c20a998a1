/** The clusters of a stage as a process: connects, sends its demand, and answers each message with its views. */
import { askForNodes, connectClusters, viewsOf } from './clusters.ts';

const operators = await connectClusters(process.argv[2]!);
askForNodes(operators);
process.on('message', () => process.send?.(viewsOf(operators)));
process.on('disconnect', () => process.exit());
