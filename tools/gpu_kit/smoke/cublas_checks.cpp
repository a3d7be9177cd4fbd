// Checks matrix products, called in cuBLASLt as the library calls them.

#include <limits>

#include <lockstep/kernels/cuda/cublas.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

using cublas::Epilogue;
using cublas::MatrixProduct;
using cublas::ProductPlan;

cublasLtHandle_t handle() {
  static const cublas::Handle made = [] {
    cublasLtHandle_t created = nullptr;
    cublas::check(cublas::functions().create(&created), "cublasLtCreate");
    return cublas::Handle(created);
  }();
  return made.get();
}

bool has_relu(Epilogue epilogue) { return epilogue == Epilogue::relu || epilogue == Epilogue::relu_bias; }
bool has_bias(Epilogue epilogue) { return epilogue == Epilogue::bias || epilogue == Epilogue::relu_bias; }

/// Operands and results of a product, in BLAS' column-major order.
struct Values {
  std::vector<double> a, b, d, vector;
};

std::size_t index(std::int64_t row, std::int64_t column, std::int64_t stride, bool transpose) {
  return static_cast<std::size_t>(transpose ? row * stride + column : column * stride + row);
}

/// Computes the product by its definition: sets d and, for bgrada, the vector.
void compute(const MatrixProduct& p, float beta, bool relu_drops_nan, Values& values) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    double row_sum = 0;
    for (std::int64_t l = 0; l < p.k; ++l) row_sum += values.a[index(row, l, p.lda, p.transpose_a)];
    for (std::int64_t column = 0; column < p.n; ++column) {
      double& result = values.d[index(row, column, p.ldd, false)];
      double sum = static_cast<double>(beta) * result;
      for (std::int64_t l = 0; l < p.k; ++l)
        sum += values.a[index(row, l, p.lda, p.transpose_a)] * values.b[index(l, column, p.ldb, p.transpose_b)];
      if (has_bias(p.epilogue)) sum += values.vector[static_cast<std::size_t>(row)];
      const bool cut = sum < 0 || (relu_drops_nan && std::isnan(sum));
      result = has_relu(p.epilogue) && cut ? 0 : sum;
    }
    if (p.epilogue == Epilogue::bgrada) values.vector[static_cast<std::size_t>(row)] = row_sum;
  }
}

/// T: type of the operands; R: type of the result and of the vector.
template <class T, class R>
struct Product {
  MatrixProduct product;
  float beta = 0;
  double tolerance = rounding<R>;
  bool relu_drops_nan = false;
  std::vector<T> a = eighths<T>(product.a_elements(), 1);
  std::vector<T> b = eighths<T>(product.b_elements(), 2);
  std::vector<R> d = eighths<R>(product.d_elements(), 3);
  std::vector<R> vector = eighths<R>(product.m, 4);

  /// Computes the product on the host and with the library, and compares them.
  std::string run() const {
    ProductPlan plan(product);
    if (product.epilogue == Epilogue::none)
      plan.choose_algorithm(handle());
    else if (!plan.find_algorithm(handle()))
      throw Skipped{"cuBLASLt has no algorithm for it: the library's own kernels do that part"};
    const Stream stream;
    const Array<T> gpu_a(a);
    const Array<T> gpu_b(b);
    const Array<R> gpu_d(d);
    const Array<R> gpu_vector(vector);
    const Array<unsigned char> workspace(std::vector<unsigned char>(plan.workspace_bytes() + 1, 0xff));
    plan.run(handle(), {.a = gpu_a.get(), .b = gpu_b.get(), .d = gpu_d.get(), .vector = gpu_vector.get(), .beta = beta},
             workspace.get(), stream.get());
    Values expected{as_double(a), as_double(b), as_double(d), as_double(vector)};
    compute(product, beta, relu_drops_nan, expected);
    std::string seen = compared(as_double(gpu_d.values()), expected.d, tolerance);
    if (product.epilogue == Epilogue::bgrada)
      seen += ", sums: " + compared(as_double(gpu_vector.values()), expected.vector, tolerance);
    return fmt::format("{}, {} bytes of workspace", seen, plan.workspace_bytes());
  }
};

template <class T>
constexpr DType dtype_of = std::is_same_v<T, float> ? DType::f32 : DType::bf16;

template <class T>
std::string dense(std::int64_t n, std::int64_t in, std::int64_t out, Epilogue epilogue) {
  return Product<T, T>{cublas::dense_product(n, in, out, epilogue, dtype_of<T>)}.run();
}

template <class T>
std::string gradient_x(float beta) {
  return Product<T, T>{cublas::dense_gradient_x_product(33, 64, 96, dtype_of<T>), beta}.run();
}

template <class T>
std::string gradient_kernel(Epilogue epilogue) {
  return Product<T, float>{cublas::dense_gradient_kernel_product(128, 48, 40, epilogue, dtype_of<T>)}.run();
}

/// With NaN in one row of x; also detects how the library's ReLU treats NaN.
template <class T>
std::string relu_of_nan(Epilogue epilogue) {
  Product<T, T> product{cublas::dense_product(32, 64, 96, epilogue, dtype_of<T>)};
  product.b[64 * 5 + 3] = T(std::numeric_limits<float>::quiet_NaN());
  try {
    return "NaN stays NaN: " + product.run();
  } catch (const DeviceError&) {
    product.relu_drops_nan = true;
    return "NaN becomes 0, so that the library's own relu is used: " + product.run();
  }
}

/// Checks that f32 keeps its 24 bits: TensorFloat-32 would keep 11.
std::string f32_is_not_rounded() {
  Product<float, float> product{cublas::dense_product(64, 256, 96, Epilogue::none, DType::f32)};
  product.a = fine_values(product.product.a_elements(), 1);
  product.b = fine_values(product.product.b_elements(), 2);
  product.tolerance = 1e-5;
  return product.run();
}

template <class T>
void add_checks(const std::string& type, std::vector<Check>& checks) {
  const auto add = [&](const std::string& name, const std::function<std::string()>& run) {
    checks.push_back({fmt::format("cublas_{}_{}", name, type), run});
  };
  add("product", [] { return dense<T>(64, 256, 96, Epilogue::none); });
  add("odd_sizes", [] { return dense<T>(33, 27, 35, Epilogue::none); });
  add("bias", [] { return dense<T>(64, 256, 96, Epilogue::bias); });
  add("relu", [] { return dense<T>(64, 256, 96, Epilogue::relu); });
  add("relu_bias", [] { return dense<T>(64, 256, 96, Epilogue::relu_bias); });
  add("relu_of_nan", [] { return relu_of_nan<T>(Epilogue::relu); });
  add("relu_bias_of_nan", [] { return relu_of_nan<T>(Epilogue::relu_bias); });
  add("bias_of_one_unit", [] { return dense<T>(64, 256, 1, Epilogue::bias); });
  add("bias_of_long_sums",
      [] { return dense<T>(16, 16384, 64, Epilogue::bias); });  // long sums are split into parts (split-K)
  add("gradient_x", [] { return gradient_x<T>(0); });
  add("gradient_x_added", [] { return gradient_x<T>(1); });
  add("gradient_kernel", [] { return gradient_kernel<T>(Epilogue::none); });
  add("gradient_kernel_and_bias", [] { return gradient_kernel<T>(Epilogue::bgrada); });
}

}  // namespace

std::vector<Check> cublas_checks() {
  std::vector<Check> checks;
  add_checks<float>("f32", checks);
  add_checks<bfloat16>("bf16", checks);
  checks.push_back({"cublas_f32_is_not_rounded", f32_is_not_rounded});
  return checks;
}

}  // namespace lockstep::smoke
