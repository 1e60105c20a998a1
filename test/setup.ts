/**
 * Property tests draw the same cases in every run, so that a failure comes from the change and not from chance. For other
 * cases set FLOTILLA_PROPERTY_SEED=<any integer>. A failure prints the seed and the path that replay it.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FLOTILLA_PROPERTY_SEED ?? 20_261_116) });
