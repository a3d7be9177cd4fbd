#include <type_traits>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/dtype.h>

namespace lockstep {
namespace {

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean};

TEST(DType, AgreesWithItsElementType) {
  for (const DType dtype : all_dtypes)
    visit_dtype(dtype, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, dtype);
      EXPECT_EQ(sizeof(T), size_of(dtype));
    });
}

TEST(DType, HasAName) {
  EXPECT_EQ(name(DType::f32), "f32");
  EXPECT_EQ(name(DType::bf16), "bf16");
  EXPECT_EQ(name(DType::i32), "i32");
  EXPECT_EQ(name(DType::i64), "i64");
  EXPECT_EQ(name(DType::u8), "u8");
  EXPECT_EQ(name(DType::boolean), "bool");
}

TEST(DType, VisitRejectsAValueThatIsNone) {
  EXPECT_THROW(visit_dtype(static_cast<DType>(99), []<class T>() {}), BrokenInvariant);
}

}  // namespace
}  // namespace lockstep
