// Included by host_loops.cpp once per kind of processor, in separate namespaces. Must not use inline functions of the
// standard library: the linker keeps one copy of each, possibly the one for the newer processor.

// Eight numbers in one vector.
using Lanes [[gnu::vector_size(32)]] = float;
constexpr std::size_t lanes = 8;

#define PPSIM_LOAD(target, from) __builtin_memcpy(&(target), from, sizeof(Lanes))

float total(const Lanes& sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

float sum(const float* values, std::size_t count) {
  Lanes first{};
  Lanes second{};
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    Lanes low;
    Lanes high;
    PPSIM_LOAD(low, values + i);
    PPSIM_LOAD(high, values + i + lanes);
    first += low;
    second += high;
  }
  float result = total(first + second);
  for (; i < count; ++i) result += values[i];
  return result;
}

float dot(const float* left, const float* right, std::size_t count) {
  Lanes sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Lanes a;
    Lanes b;
    PPSIM_LOAD(a, left + i);
    PPSIM_LOAD(b, right + i);
    sums += a * b;
  }
  float result = total(sums);
  for (; i < count; ++i) result += left[i] * right[i];
  return result;
}

float largest(const float* values, std::size_t count) {
  float most[lanes];
  for (float& lane : most) lane = values[0];
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      most[lane] = most[lane] < values[i + lane] ? values[i + lane] : most[lane];
  for (; i < count; ++i) most[0] = most[0] < values[i] ? values[i] : most[0];
  float result = most[0];
  for (const float lane : most) result = result < lane ? lane : result;
  return result;
}

// exp(x) = 2^n exp(r), |r| <= ln(2)/2, exp(r) by its Taylor series to the 7th power: relative error below 2e-7. Beyond
// +-60 it stays at 1e26 and 1e-26: added to 1 these equal infinity and zero, and their products and quotients are not
// denormal. Denormals would cost hundreds of cycles each, even in unused lanes. NaN gives NaN.
inline float fast_exp(float x) {
  constexpr float rounding = 12582912.0F; // 1.5 * 2^23: the sum has no bits left for a fraction
  x = x < -60.0F ? -60.0F : x;
  x = x > 60.0F ? 60.0F : x;
  const float shifted = x * 1.44269504F + rounding;
  const float n = shifted - rounding;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F; // ln(2) in two parts, the first with few bits
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, shifted) - __builtin_bit_cast(std::uint32_t, rounding);
  return series * __builtin_bit_cast(float, (bits + 127U) << 23U);
}

constexpr float gelu_slope = 1.5957691F; // 2 sqrt(2/pi)
constexpr float gelu_cubic = 0.044715F;

void gelu(const float* __restrict x, std::size_t count, float* __restrict out) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float twice_u = gelu_slope * (x[i] + gelu_cubic * x[i] * x[i] * x[i]);
    out[i] = x[i] * (1.0F / (1.0F + fast_exp(-twice_u)));
  }
}

void gelu_back(const float* __restrict gradient, std::size_t count, float* __restrict x) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float twice_u = gelu_slope * (x[i] + gelu_cubic * x[i] * x[i] * x[i]);
    const float share = 1.0F / (1.0F + fast_exp(-twice_u));
    const float slope = gelu_slope * (1.0F + 3.0F * gelu_cubic * x[i] * x[i]);
    x[i] = gradient[i] * (share + x[i] * share * (1.0F - share) * slope);
  }
}

void normalise(const float* x, std::size_t rows, std::size_t columns, float* normed, float* inverse_deviation) {
  constexpr float epsilon = 1e-5F; // keeps rows of equal numbers finite
  const float share = 1.0F / static_cast<float>(columns);
  for (std::size_t row = 0; row < rows; ++row, x += columns, normed += columns) {
    const float* __restrict from = x;
    float* __restrict to = normed;
    const float mean = sum(from, columns) * share;
    for (std::size_t i = 0; i < columns; ++i) to[i] = from[i] - mean;
    const float inverse = 1.0F / __builtin_sqrtf(dot(to, to, columns) * share + epsilon);
    for (std::size_t i = 0; i < columns; ++i) to[i] *= inverse;
    inverse_deviation[row] = inverse;
  }
}

void normalise_back(const float* gradient, const float* normed, const float* inverse_deviation, std::size_t rows,
                    std::size_t columns, const float* dy, float* dx) {
  const float share = 1.0F / static_cast<float>(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* __restrict g = gradient + row * columns;
    const float* __restrict n = normed + row * columns;
    const float* __restrict through = dy + row * columns; // the residual
    float* __restrict out = dx + row * columns;
    const float mean = sum(g, columns) * share;
    const float along = dot(g, n, columns) * share;
    const float inverse = inverse_deviation[row];
    for (std::size_t i = 0; i < columns; ++i) out[i] = through[i] + inverse * (g[i] - mean - n[i] * along);
  }
}

void causal_softmax(float* scores, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    float* __restrict values = scores + row * rows;
    const std::size_t count = row + 1;
    const float most = largest(values, count);
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) values[i] = fast_exp(values[i] - most);
    const float inverse = 1.0F / sum(values, count);
    for (std::size_t i = 0; i < count; ++i) values[i] *= inverse;
    for (std::size_t i = count; i < rows; ++i) values[i] = 0.0F;
  }
}

void softmax_back(const float* probabilities, std::size_t rows, float* gradient) {
  for (std::size_t row = 0; row < rows; ++row) {
    const float* __restrict p = probabilities + row * rows;
    float* __restrict g = gradient + row * rows;
    const float mean = dot(p, g, row + 1);
    for (std::size_t i = 0; i <= row; ++i) g[i] = p[i] * (g[i] - mean);
    for (std::size_t i = row + 1; i < rows; ++i) g[i] = 0.0F;
  }
}

void draw_input(std::uint32_t key, std::size_t count, float* __restrict x) {
  for (std::size_t i = 0; i < count; ++i) x[i] = input_value(key, i);
}

void draw_parameters(std::uint32_t key, float limit, std::size_t count, float* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = limit * seeded_value(key, static_cast<std::uint32_t>(i));
}

float loss_row(const float* __restrict y, const float* __restrict shifts, std::uint32_t key, std::size_t first,
               std::size_t columns, float factor, float* __restrict gradient) {
  for (std::size_t i = 0; i < columns; ++i) gradient[i] = y[i] - target_value(input_value(key, first + i), shifts[i]);
  const float squares = dot(gradient, gradient, columns);
  for (std::size_t i = 0; i < columns; ++i) gradient[i] *= factor;
  return squares;
}

void add(const float* first, const float* second, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = first[i] + second[i];
}

void sgd(const float* __restrict gradient, float step, std::size_t count, float* __restrict parameters) {
  for (std::size_t i = 0; i < count; ++i) parameters[i] -= step * gradient[i];
}

void adam(const float* __restrict gradient, const AdamFactors& factors, std::size_t count, float* __restrict parameters,
          float* __restrict first, float* __restrict second) {
  const AdamFactors f = factors;
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * f.gradient_factor;
    first[i] += f.first_share * (g - first[i]);
    second[i] += f.second_share * (g * g - second[i]);
    parameters[i] -= f.step * first[i] / (__builtin_sqrtf(second[i] * f.second_correction) + f.epsilon);
  }
}

// Matrix products: blocks of `out` stay in registers, and the operands are copied so that they are read in order (Goto
// and van de Geijn 2008). A tile fits the 16 registers of AVX2.
constexpr std::size_t tile_rows = 6;
constexpr std::size_t tile_columns = 2 * lanes;
constexpr std::size_t block_inner = 256;
constexpr std::size_t block_columns = 8 * tile_columns;

inline float element(const Operand& matrix, std::size_t row, std::size_t column) {
  return matrix.transposed ? matrix.data[column * matrix.stride + row] : matrix.data[row * matrix.stride + column];
}

constexpr std::size_t smaller(std::size_t left, std::size_t right) {
  return left < right ? left : right;
}

// Panels of tile_columns columns, each over the inner dimension; zeros beyond the matrix.
void pack_columns(const Product& product, std::size_t inner, std::size_t depth, std::size_t column, std::size_t count,
                  float* packed) {
  for (std::size_t panel = 0; panel < count; panel += tile_columns) {
    const std::size_t used = smaller(tile_columns, count - panel);
    for (std::size_t k = 0; k < depth; ++k, packed += tile_columns) {
      for (std::size_t j = 0; j < used; ++j) packed[j] = element(product.b, inner + k, column + panel + j);
      for (std::size_t j = used; j < tile_columns; ++j) packed[j] = 0.0F;
    }
  }
}

void pack_rows(const Product& product, std::size_t row, std::size_t used, std::size_t inner, std::size_t depth,
               float* packed) {
  for (std::size_t k = 0; k < depth; ++k, packed += tile_rows) {
    for (std::size_t i = 0; i < used; ++i) packed[i] = product.factor * element(product.a, row + i, inner + k);
    for (std::size_t i = used; i < tile_rows; ++i) packed[i] = 0.0F;
  }
}

void multiply_tile(const float* rows, const float* columns, std::size_t depth, float* tile) {
  Lanes sums[tile_rows][2]{};
  for (std::size_t k = 0; k < depth; ++k, rows += tile_rows, columns += tile_columns) {
    Lanes low;
    Lanes high;
    PPSIM_LOAD(low, columns);
    PPSIM_LOAD(high, columns + lanes);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < tile_rows; ++i) {
      sums[i][0] += rows[i] * low;
      sums[i][1] += rows[i] * high;
    }
  }
  __builtin_memcpy(tile, sums, sizeof sums);
}

void store_tile(const float* tile, std::size_t rows, std::size_t columns, bool add_to, float* out, std::size_t stride) {
  for (std::size_t i = 0; i < rows; ++i, out += stride, tile += tile_columns) {
    for (std::size_t j = 0; j < columns; ++j) out[j] = add_to ? out[j] + tile[j] : tile[j];
  }
}

void multiply(const Product& product) {
  alignas(64) float columns[block_inner * block_columns];
  alignas(64) float rows[block_inner * tile_rows];
  alignas(64) float tile[tile_rows * tile_columns];
  for (std::size_t column = 0; column < product.columns; column += block_columns) {
    const std::size_t width = smaller(block_columns, product.columns - column);
    for (std::size_t inner = 0; inner < product.inner; inner += block_inner) {
      const std::size_t depth = smaller(block_inner, product.inner - inner);
      pack_columns(product, inner, depth, column, width, columns);
      for (std::size_t row = 0; row < product.rows; row += tile_rows) {
        const std::size_t height = smaller(tile_rows, product.rows - row);
        pack_rows(product, row, height, inner, depth, rows);
        for (std::size_t panel = 0; panel < width; panel += tile_columns) {
          multiply_tile(rows, columns + panel * depth, depth, tile);
          store_tile(tile, height, smaller(tile_columns, width - panel), product.add || inner > 0,
                     product.out + row * product.stride + column + panel, product.stride);
        }
      }
    }
  }
}

#undef PPSIM_LOAD
