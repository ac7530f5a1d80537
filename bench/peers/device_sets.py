"""device_sets.py TILEWRIGHT FOLDER: compares `query --over` of T4 files with the exact answer. FOLDER has KERNEL.GPU.T4.json.gz of
several GPUs. For each kernel, all results, then a random part of each GPU's (5 seeds): the worst share that the answer and the best
predicted config really have, the mean error of predicted shares, and how often the real share is above the lower quartile."""
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

SEEDS = 5


def key_of(config):
    return json.dumps(config, sort_keys=True, separators=(',', ':'))


def value_of(result):
    objective = (result.get('objectives') or ['time'])[0]
    values = [m['value'] for m in result['measurements'] if m['name'] == objective]
    good = result.get('invalidity', 'correct') == 'correct' and values and isinstance(values[0], (int, float))
    return values[0] if good and values[0] > 0 else float('inf')


def query(tilewright, files):
    run = subprocess.run([tilewright, 'query', '--over', ','.join(files), '--json'], capture_output=True, text=True)
    return json.loads(run.stdout)


def mean(values):
    return f'{sum(values) / len(values):.3f}' if values else '-'


def main(tilewright, folder):
    kernels = {}
    for path in sorted(glob.glob(f'{folder}/*.T4.json.gz')):
        kernels.setdefault(os.path.basename(path).split('.')[0], []).append(path)
    for kernel, paths in kernels.items():
        files = [json.load(gzip.open(path)) for path in paths]
        values = [{key_of(r['configuration']): value_of(r) for r in file['results']} for file in files]
        best = [min(one.values()) for one in values]

        def worst_share(key):
            return min(b / one[key] for b, one in zip(best, values))

        exact = max(worst_share(key) for key in values[0] if all(key in one for one in values))
        answer = query(tilewright, paths)['answer']
        print(f'{kernel}, all results: exact {exact:.6f}, answer {answer["score"]:.6f}')
        for part in (0.05, 0.2, 0.5):
            answers, predicted, errors, above = [], [], [], []
            for seed in range(SEEDS):
                draw = random.Random(seed)
                with tempfile.TemporaryDirectory() as temp:
                    some = []
                    for path, file in zip(paths, files):
                        some.append(f'{temp}/{os.path.basename(path)[:-3]}')
                        drawn = [r for r in file['results'] if draw.random() < part]
                        json.dump(dict(file, results=drawn), open(some[-1], 'w'))
                    said = query(tilewright, some)
                if said['answer']:
                    answers.append(worst_share(key_of(said['answer']['config'])))
                if said['predicted']:
                    predicted.append(worst_share(key_of(said['predicted'][0]['config'])))
                for one in said['predicted']:
                    for share, b, measured in zip(one['shares'], best, values):
                        if share['evidence'] != 'predicted':
                            continue
                        real = b / measured[key_of(one['config'])]
                        errors.append(abs(real - share['share']))
                        above.append(float(real >= share['low'] - 1e-9))
            print(f'  {part:.0%} of each: answer {mean(answers)} in {len(answers)} of {SEEDS}, best predicted '
                  f'{mean(predicted)} in {len(predicted)}, error of predicted shares {mean(errors)}, '
                  f'above the lower quartile {mean(above)}')


main(*sys.argv[1:])
