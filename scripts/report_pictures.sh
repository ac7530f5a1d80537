#!/usr/bin/env bash
# report_pictures.sh TILEWRIGHT MODEL STORE TASK_STORE: draws docs/images of docs/report.md with a headless
# Chromium (scripts/setup.sh --with-browser). STORE: of a job of the model; TASK_STORE: of one of a single
# task with some hundred trials (tune MODEL#3). With pngquant, if it is there, they are a third as large.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "$1") model=$(realpath "$2") store=$(realpath "$3") task_store=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Paths are part of the pages: short ones, of no machine.
cp "$model" "$work/mobilenet_v2.onnx"
cp "$store" "$work/network.db"
cp "$task_store" "$work/task.db"
(cd "$work" && "$program" report network.db task.db --graph mobilenet_v2.onnx -o report.html)

# picture NAME VIEW WIDTH HEIGHT SCHEME(1: light, 0: dark)
picture() {
  chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    --user-data-dir="$work/profile" --window-size="$3,$4" --virtual-time-budget=3000 \
    --blink-settings="preferredColorScheme=$5" --screenshot="$work/$1.png" \
    "file://$work/report.html#/$2" >/dev/null 2>&1
  if command -v pngquant >/dev/null; then
    pngquant --force --output "docs/images/$1.png" 64 "$work/$1.png"  # colours
  else
    cp "$work/$1.png" "docs/images/$1.png"
  fi
}

mkdir -p docs/images
picture report-overview "" 1080 1000 1
picture report-task job/1/task/0 1080 1330 1
picture report-network network 1080 700 0
picture report-phone job/1/task/0 500 900 0
ls -l docs/images/report-*.png
