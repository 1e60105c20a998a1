import { describeValueHistories } from './histories.ts';

describeValueHistories();
