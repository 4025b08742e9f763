"""Pure computation: values in, values out; randomness only from a generator that is passed in."""
