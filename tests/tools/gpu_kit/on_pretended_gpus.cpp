// Linked with --wrap=main into a program of the kit's: it finds the pretended CUDA's GPUs on its machine.

#include <support/pretend_gpu/computing.h>

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
  lockstep::test::install_pretended_cuda(3);
  return __real_main(argc, argv);
}
