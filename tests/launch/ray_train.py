"""ray_train.py PROGRAM DIRECTORY: two workers of Ray Train, each of which starts the program. Results go to the directory."""
import subprocess
import sys

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

program, directory = sys.argv[1:]


def train():
    subprocess.run([program], check=True)


ray.init(num_cpus=3, include_dashboard=False)
TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=directory)).fit()
