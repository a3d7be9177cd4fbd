#pragma once

namespace lockstep::test {

/// Makes this a machine with that many GPUs of the library's own, over the pretended CUDA, until the program's end.
/// Throws LogicError when that has not been loaded.
void install_pretended_cuda(int gpus);

}  // namespace lockstep::test
