/**
 * Property tests draw the same cases in every run, so that a red run is the change's doing and nobody's luck. Other
 * cases: FLOTILLA_PROPERTY_SEED=<any integer> npm test. A failure prints the seed and the path that replay it.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FLOTILLA_PROPERTY_SEED ?? 20_261_116) });
