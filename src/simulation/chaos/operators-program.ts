/** The clusters of a stage as a process of its own: connects, asks for its nodes, and says what it was told when asked. */
import { askForNodes, connectClusters, viewsOf } from './clusters.ts';

const operators = await connectClusters(process.argv[2]!);
askForNodes(operators);
process.on('message', () => process.send?.(viewsOf(operators)));
process.on('disconnect', () => process.exit());
