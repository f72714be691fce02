"""The seed of what a test draws."""
import os
import random


def fresh_seed():
    """MDSTREAM_TEST_SEED if set, otherwise another each time. For the caller to print."""
    return int(os.environ.get('MDSTREAM_TEST_SEED') or random.randrange(2**31))
