// libtorch contains its own oneDNN besides lockstep's libdnnl. Both libraries export, under the same names, the
// functions by which std::call_once initializes their matrix products. The dynamic linker binds these names in both
// libraries to the functions of the library loaded first, which then initialize the first library twice. The second
// library is never initialized, and its products fail ("could not execute a primitive"). Before main, this file binds
// the names in each library to the library's own functions.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

/// A loaded library's relocations that refer to symbols, and its tables of symbols and of symbols' names.
struct Bindings {
  std::span<const ElfW(Rela)> relocations;
  const ElfW(Sym) * symbols;
  const char* names;
};

std::span<const ElfW(Phdr)> segments(const dl_phdr_info& library) { return {library.dlpi_phdr, library.dlpi_phnum}; }

Bindings bindings(const ElfW(Dyn) * entry) {
  const ElfW(Rela)* relocations = nullptr;
  std::size_t bytes = 0;
  std::size_t without_symbol = 0;  // number of relocations without a symbol, which come first
  Bindings result{};
  for (; entry->d_tag != DT_NULL; ++entry) {
    // glibc has already replaced the addresses by those in memory.
    if (entry->d_tag == DT_RELA) relocations = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELASZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_RELACOUNT) without_symbol = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) result.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) result.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  result.relocations = std::span(relocations, bytes / sizeof(ElfW(Rela))).subspan(without_symbol);
  return result;
}

bool initializes_onednn(std::string_view name) {
  return name.starts_with("_ZZNSt9once_flag") && name.find("N4dnnl4impl") != std::string_view::npos;
}

/// Writes `value` to `place`, which may be in the part of `library` that the dynamic linker has made read-only. Does
/// nothing if the system does not permit writing there.
void overwrite(const dl_phdr_info& library, ElfW(Addr) place, ElfW(Addr) value) {
  const bool read_only = std::ranges::any_of(segments(library), [&](const ElfW(Phdr) & segment) {
    const ElfW(Addr) begin = library.dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_GNU_RELRO && place >= begin && place < begin + segment.p_memsz;
  });
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const start = reinterpret_cast<void*>(place / page * page);
  if (read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  *reinterpret_cast<ElfW(Addr)*>(place) = value;
  if (read_only) mprotect(start, page, PROT_READ);
}

int bind_to_itself(dl_phdr_info* library, std::size_t, void*) {
  const std::string_view file = library->dlpi_name;
  if (file.find("libdnnl") == file.npos && file.find("libtorch_cpu") == file.npos) return 0;
  const auto dynamic = std::ranges::find(segments(*library), ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
  if (dynamic == segments(*library).end()) return 0;
  const auto [relocations, symbols, names] =
      bindings(reinterpret_cast<const ElfW(Dyn)*>(library->dlpi_addr + dynamic->p_vaddr));
  for (const ElfW(Rela) & relocation : relocations) {
    const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
    if (symbol.st_shndx == SHN_UNDEF || !initializes_onednn(names + symbol.st_name)) continue;
    overwrite(*library, library->dlpi_addr + relocation.r_offset,
              library->dlpi_addr + symbol.st_value + static_cast<ElfW(Addr)>(relocation.r_addend));
  }
  return 0;
}

}  // namespace

// Programs are linked with --undefined=lockstep_bind_onednn (CMakeLists.txt), so that all of them contain this
// function.
extern "C" __attribute__((constructor)) void lockstep_bind_onednn() { dl_iterate_phdr(bind_to_itself, nullptr); }
