import { describeHistories } from './histories.ts';

describeHistories(4);
