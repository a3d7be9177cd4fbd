# Sourced by the scripts that build. Exports CUDAARCHS, unless it is set: this machine's GPUs, or without one a single
# architecture instead of all those of a release, because device code is then only compiled.
if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then architectures=native; else architectures=90; fi
export CUDAARCHS=${CUDAARCHS-$architectures}
