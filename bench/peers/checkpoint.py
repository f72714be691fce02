#!/usr/bin/env python3
"""Libraries that save and load tensors: `checkpoint.py checkpoint CASE WHERE FORMAT[+TOOL]`; see turns.py.

FORMAT is safetensors or torch.save; with a TOOL, boto3 or s5cmd, it takes part where a bucket is used. WHERE is the file of the tensors, a tab, and a folder or an S3
URL. Files that go to a bucket, or come from it, lie in memory.
"""
import os
import subprocess
import sys
import tempfile

import numpy
import safetensors.torch
import torch
from turns import serve

AT_ONCE, PART = 16, 16 << 20


def tensors_of(file):
    data = numpy.memmap(file, dtype=numpy.float32, mode='c')
    out = {}
    for line in open(file + '.tsv'):
        name, at, *shape = line.rstrip('\n').split('\t')
        shape = [int(each) for each in shape]
        first = int(at) // 4
        out[name] = torch.from_numpy(data[first:first + int(numpy.prod(shape))].reshape(shape))
    return out


FORMATS = {
    'safetensors': (lambda tensors, path: safetensors.torch.save_file(tensors, path), safetensors.torch.load_file),
    'torch.save': (torch.save, torch.load),
}


def boto3_copies(bucket):
    import boto3
    from boto3.s3.transfer import TransferConfig
    from botocore.config import Config
    client = boto3.client('s3', endpoint_url=os.environ['S3_ENDPOINT_URL'], config=Config(max_pool_connections=2 * AT_ONCE))
    config = TransferConfig(max_concurrency=AT_ONCE, multipart_chunksize=PART)
    return (lambda path, key: client.upload_file(path, bucket, key, Config=config),
            lambda key, path: client.download_file(bucket, key, path, Config=config))


def s5cmd_copies(bucket):
    def copy(source, destination):
        subprocess.run([os.environ['MDSTREAM_BENCH_TOOLS'] + '/s5cmd', '--endpoint-url', os.environ['S3_ENDPOINT_URL'], 'cp',
                        '--concurrency', str(AT_ONCE), '--part-size', str(PART >> 20), source, destination],
                       check=True, stdout=subprocess.DEVNULL)
    return (lambda path, key: copy(path, f's3://{bucket}/{key}'),
            lambda key, path: copy(f's3://{bucket}/{key}', path))


def main():
    bench, case, where, who = sys.argv[1:]
    form, _, tool = who.partition('+')
    if bench != 'checkpoint' or not case.startswith(('save', 'load')):
        return
    file, destination = where.split('\t')
    in_bucket = destination.startswith('s3://')
    if bool(tool) != in_bucket:
        return
    save, load = FORMATS[form]
    tensors = tensors_of(file)
    size = sum(each.numel() * 4 for each in tensors.values())
    key = who
    path = tempfile.mkdtemp(dir='/dev/shm') + '/model' if in_bucket else os.path.join(destination, key)
    if in_bucket:
        upload, download = {'boto3': boto3_copies, 's5cmd': s5cmd_copies}[tool](destination.removeprefix('s3://'))

    def save_all():
        save(tensors, path)
        if in_bucket:
            upload(path, key)
        os.unlink(path)
        return size

    def load_all():
        if in_bucket:
            download(key, path)
        for name, tensor in load(path).items():
            mine[name].copy_(tensor)
        if in_bucket:
            os.unlink(path)
        return size

    if case.startswith('load'):
        save(tensors, path)
        if in_bucket:
            upload(path, key)
            os.unlink(path)
        mine = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    serve(' + '.join(who.split('+')), load_all if case.startswith('load') else save_all)
    if os.path.exists(path):
        os.unlink(path)


main()
