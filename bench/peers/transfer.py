#!/usr/bin/env python3
"""Libraries that copy objects, as peers: `transfer.py transfer CASE WHERE WHO`; see turns.py. WHO: obstore, boto3.

WHERE is two words with a tab between: for downloads a file of URLs and a folder, for uploads a folder and an S3 URL. The S3
server is that of the environment. Sixteen objects are under way at a time, as with the other programs.
"""
import asyncio
import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from turns import serve

AT_ONCE = 16
place = itertools.count()  # uploads go elsewhere in each turn


def split(url):
    """Scheme and host, and the path without its first slash."""
    scheme, _, rest = url.partition('://')
    host, _, path = rest.partition('/')
    return f'{scheme}://{host}', path


def obstore_in_turns(uploads, source, destination):
    import obstore
    from obstore.store import HTTPStore, S3Store

    def client_of(bucket):
        return S3Store(bucket, endpoint=os.environ['S3_ENDPOINT_URL'], region=os.environ['AWS_REGION'],
                       access_key_id=os.environ['AWS_ACCESS_KEY_ID'],
                       secret_access_key=os.environ['AWS_SECRET_ACCESS_KEY'], client_options={'allow_http': True})

    async def in_turns(one, items):
        limit = asyncio.Semaphore(AT_ONCE)

        async def run(item):
            async with limit:
                return await one(item)
        return sum(await asyncio.gather(*map(run, items)))

    def download():
        urls = open(source).read().split()
        store = HTTPStore.from_url(split(urls[0])[0], client_options={'allow_http': True})

        async def one(url):
            answer = await obstore.get_async(store, split(url)[1])
            size = 0
            with open(os.path.join(destination, os.path.basename(url)), 'wb', buffering=0) as file:
                async for part in answer.stream(min_chunk_size=1 << 20):
                    size += file.write(part)
            return size
        return asyncio.run(in_turns(one, urls))

    def upload():
        bucket, _, prefix = destination.removeprefix('s3://').partition('/')
        store, below = client_of(bucket), f'{prefix}obstore-{next(place)}/'

        async def one(name):
            path = os.path.join(source, name)
            await obstore.put_async(store, below + name, path)
            return os.path.getsize(path)
        return asyncio.run(in_turns(one, os.listdir(source)))
    return upload if uploads else download


def boto3_in_turns(uploads, source, destination):
    if not uploads:
        return None
    import boto3
    from botocore.config import Config
    client = boto3.client('s3', endpoint_url=os.environ['S3_ENDPOINT_URL'], config=Config(max_pool_connections=4 * AT_ONCE))
    bucket, _, prefix = destination.removeprefix('s3://').partition('/')

    def upload():
        below = f'{prefix}boto3-{next(place)}/'

        def one(name):
            path = os.path.join(source, name)
            client.upload_file(path, bucket, below + name)
            return os.path.getsize(path)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return sum(threads.map(one, os.listdir(source)))
    return upload


if __name__ == '__main__':
    bench, case, where, who = sys.argv[1:]
    make = {'obstore': obstore_in_turns, 'boto3': boto3_in_turns}[who]
    work = make(case.startswith('upload'), *where.split('\t')) if bench == 'transfer' else None
    if work:
        serve(who, work)
