// Linked into a program of the kit with --wrap=main: makes it find the pretended CUDA's GPUs.

#include <support/pretend_gpu/computing.h>

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
  lockstep::test::install_pretended_cuda(3);
  return __real_main(argc, argv);
}
