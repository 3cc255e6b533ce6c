/*
 * Losses of a small language model over ten steps of AdamW, in double precision by NumPy with gradients by
 * automatic differentiation. Made, with numpy 2.4.6 and autograd 1.9.1, by
 *   python3 tests/reference/transformer.py 32 64 2 4 50 2 8 10 FOLDER
 * (d_model, d_ff, layers, heads, vocabulary, batch, context, steps) from the parameters and tokens of seed 1, which
 * test_transformer_model writes into a folder. Kept for machines without NumPy.
 */
#ifndef NVT_REFERENCE_TRANSFORMER_H
#define NVT_REFERENCE_TRANSFORMER_H

#define REFERENCE_STEPS 10

static const double reference_losses[REFERENCE_STEPS] = {
    3.89492470407912, 3.75133931967274, 3.63733125713028, 3.54830672991923, 3.47418775753375,
    3.40975020258155, 3.3532630021109,  3.30288388194052, 3.25673505021556, 3.21360614634975,
};

#endif
