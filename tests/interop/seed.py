"""The seed of what a test draws: MDSTREAM_TEST_SEED if set, otherwise another each time. It is printed when this is imported, which has to
be before all that is slow: a test that a time limit ends loses what it has not flushed."""
import os
import random

seed = int(os.environ.setdefault('MDSTREAM_TEST_SEED', str(random.randrange(2**31))))
print(f'MDSTREAM_TEST_SEED={seed}', flush=True)
