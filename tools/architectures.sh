# Sourced by the scripts that build. Exports CUDAARCHS; unless it is set already, its value is `native` (this machine's
# GPUs) or, without a GPU, the single architecture 90, because device code is then only compiled.
if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then architectures=native; else architectures=90; fi
export CUDAARCHS=${CUDAARCHS-$architectures}
