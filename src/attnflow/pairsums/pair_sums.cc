// Sums over pairs of tokens on a processor, in float32 and float64, for any dimension; compiled by `native_library.py`.
//
// For every query i, over the keys j that it sees,
//
//     top_i = max_j s_ij,   mass_i = sum_j e^{s_ij - top_i},   num_i = sum_j e^{s_ij - top_i} v_j,
//     s_ij = <q_i, k_j> + bias_j,   and for causal pairs   s_ij - slope (last_i - j)  where j <= last_i.
//
// Queries are the lanes of vectors. A tile of queries loops over tiles of keys, and the scores, exponentials and sums of a
// tile stay in the first-level cache. Both products multiply rows of vectors by numbers, and run at the rate of the
// arithmetic units. Nothing is summed across lanes. Tokens are the last axis of all arrays.
//
// The threads of XLA's pool share the tiles, or the realisations of an ensemble. The tiles do not depend on the number of
// threads, and one thread computes a whole tile: results have the same bits on any number of cores.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include "xla/ffi/api/c_api.h"

#if defined(__AVX512F__)
constexpr long kBytes = 64;
#elif defined(__AVX__)
constexpr long kBytes = 32;
#else
constexpr long kBytes = 16;
#endif

constexpr int kAcross = 2;  // vectors of queries in a tile; with 8 keys they make 16 sums, half of the registers
constexpr int kDown = 8;    // keys (in a sum: values) that are computed together
constexpr long kKeys = 128;  // keys in a tile

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float vector __attribute__((vector_size(kBytes)));
  typedef uint32_t bits __attribute__((vector_size(kBytes)));
};
template <> struct Lanes<double> {
  typedef double vector __attribute__((vector_size(kBytes)));
  typedef uint64_t bits __attribute__((vector_size(kBytes)));
};
template <class T> using Vector = typename Lanes<T>::vector;
template <class T> using Bits = typename Lanes<T>::bits;
template <class T> constexpr long kLanes = kBytes / sizeof(T);

template <class T> inline Vector<T> all(T a) { return a - Vector<T>{}; }
template <class T> inline Vector<T> loaded(const T* a) {
  Vector<T> v;
  memcpy(&v, a, kBytes);  // at any alignment
  return v;
}
template <class T> inline Vector<T>& at(T* a, long k) { return *reinterpret_cast<Vector<T>*>(a + k * kLanes<T>); }

// e^x = 2^k e^r with k a whole number and |r| <= log(2)/2; e^r = 1 + r + r^2 q(r), where q has nearly the least greatest
// relative error on that interval: 1e-7 and 2e-17. For x <= 0; zero below the smallest normal number. The sum with kRound
// leaves k, and the bias of exponents, in the last bits; multiplying by 2^k keeps NaN.
template <class T> struct Exp;
template <> struct Exp<float> {
  static constexpr float kRound = 12582912.f + 127.f, kHigh = 0.693359375f, kLow = -2.12194440e-4f, kLowest = -87.3f;
  static constexpr float kQ[] = {0.008312501376070348f, 0.041890331599788236f, 0.16667115387828668f, 0.4999923030887648f};
  static constexpr uint32_t kMantissa = 23;
};
template <> struct Exp<double> {
  static constexpr double kRound = 6755399441055744.0 + 1023.0, kHigh = 0.69314718036912381649, kLow = 1.90821492927058770002e-10;
  static constexpr double kLowest = -708.3;
  static constexpr double kQ[] = {2.5100375929185925e-08, 2.762007600563138e-07,  2.7557268480106926e-06, 2.480152132210459e-05,
                                  0.00019841269863040675, 0.001388888891719689,   0.008333333333330065,   0.041666666666624164,
                                  0.16666666666666669,    0.5000000000000001};
  static constexpr uint64_t kMantissa = 52;
};

template <class T> inline Vector<T> exponential(Vector<T> x) {
  using E = Exp<T>;
  constexpr int count = sizeof(E::kQ) / sizeof(T);
  Vector<T> t = x * T(1.4426950408889634) + E::kRound;
  Vector<T> k = t - E::kRound;
  Vector<T> r = (x - k * E::kHigh) - k * E::kLow;
  Vector<T> q = r * E::kQ[0] + E::kQ[1];
#pragma GCC unroll 16
  for (int i = 2; i < count; i++) q = q * r + E::kQ[i];
  Vector<T> power = (Vector<T>)((Bits<T>)t << E::kMantissa);
  Vector<T> e = (r * (q * r + T(1)) + T(1)) * power;
  return x < E::kLowest ? Vector<T>{} : e;
}

// total += more, compensated: `lost` keeps the rounding error for the next call, so that errors do not grow with the
// number of tiles. An infinite sum has no rounding error, and stays infinite.
template <class T> inline void add(Vector<T>& total, Vector<T>& lost, Vector<T> more) {
  more -= lost;
  Vector<T> now = total + more, off = (now - total) - more;
  lost = off == off ? off : Vector<T>{};
  total = now;
}

// c[j] = start[j] + scale sum_k a[k] b[j, k] for J rows of A vectors; `start` may be null. With `lost` the whole sum is
// added to c, compensated.
template <class T, int A, int J>
inline void multiply_rows(const T* a, const T* b, long along_j, long along_k, long count, const T* start, T scale, T* c,
                          T* lost) {
  const bool scaled = scale != T(1);
  Vector<T> sum[J][A];
#pragma GCC unroll 16
  for (int j = 0; j < J; j++)
#pragma GCC unroll 4
    for (int i = 0; i < A; i++) sum[j][i] = start && !scaled ? all(start[j]) : Vector<T>{};
  for (long k = 0; k < count; k++) {
    Vector<T> row[A];
#pragma GCC unroll 4
    for (int i = 0; i < A; i++) row[i] = at(const_cast<T*>(a), k * A + i);
#pragma GCC unroll 16
    for (int j = 0; j < J; j++) {
      Vector<T> number = all(b[j * along_j + k * along_k]);
#pragma GCC unroll 4
      for (int i = 0; i < A; i++) sum[j][i] += row[i] * number;
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < J; j++)
#pragma GCC unroll 4
    for (int i = 0; i < A; i++)
      if (lost) add<T>(at(c, j * A + i), at(lost, j * A + i), sum[j][i]);
      else at(c, j * A + i) = start && scaled ? sum[j][i] * scale + start[j] : sum[j][i];
}

template <class T, int A>
void multiply(const T* a, const T* b, long along_j, long along_k, long rows, long count, const T* start, T scale, T* c,
              T* lost) {
  for (; rows > 0; rows -= kDown) {
    switch (rows) {
#define ROWS(J) multiply_rows<T, A, J>(a, b, along_j, along_k, count, start, scale, c, lost)
      case 1: return ROWS(1);
      case 2: return ROWS(2);
      case 3: return ROWS(3);
      case 4: return ROWS(4);
      case 5: return ROWS(5);
      case 6: return ROWS(6);
      case 7: return ROWS(7);
      default: ROWS(kDown);
#undef ROWS
    }
    b += kDown * along_j;
    start = start ? start + kDown : nullptr;
    c += kDown * A * kLanes<T>;
    lost = lost ? lost + kDown * A * kLanes<T> : nullptr;
  }
}

template <class T> struct Cloud {
  long n, m, d, p;
  T scale;                                  // of the inner products
  const T *queries, *keys, *bias, *values;  // (d, n), (d, m), (m), (p, m)
  const T *last, *slope;                    // (n), one number; no last: all pairs
  bool mean;                                // num is to be divided by mass
  T *num, *mass, *top;                      // (p, n), (n), (n)
  T* space;                                 // d + kKeys + 2 p rows of vectors, and last
};

// Keys after the last one that a query sees have weight zero, and the slope reduces those before it.
template <class T, int A> inline void hide_unseen(T* scores, const T* last, T slope, long first, long count) {
  const T nothing = -std::numeric_limits<T>::infinity();
  for (long j = 0; j < count; j++)
#pragma GCC unroll 4
    for (int i = 0; i < A; i++) {
      Vector<T> ahead = T(first + j) - at(const_cast<T*>(last), i);
      Vector<T>& s = at(scores, j * A + i);
      s = ahead > T(0) ? all(nothing) : s + slope * ahead;
    }
}

// A vectors of queries, from query `first` on, against all keys.
template <class T, int A> void tile(const Cloud<T>& in, long first) {
  constexpr long width = A * kLanes<T>;
  const T nothing = -std::numeric_limits<T>::infinity();
  const long own = in.n - first < width ? in.n - first : width;
  T *packed = in.space, *e = packed + in.d * width, *sum = e + kKeys * width;
  T *lost = sum + in.p * width, *last = lost + in.p * width;
  const bool whole = in.n == width && reinterpret_cast<uintptr_t>(in.queries) % kBytes == 0;  // as rows of vectors
  for (long c = 0; c < in.d && !whole; c++) {
    T* row = packed + c * width;
    const T* given = in.queries + c * in.n + first;
    if (own == width) memcpy(row, given, sizeof(T) * width);
    else
      for (long i = 0; i < width; i++) row[i] = i < own ? given[i] : T(0);
  }
  const T* queries = whole ? in.queries : packed;
  long seen = in.m, by_all = in.m;  // keys that some query sees; keys that all queries see
  if (in.last) {
    T greatest = T(-1), least = T(in.m);
    for (long i = 0; i < width; i++) {
      T l = last[i] = in.last[first + (i < own ? i : 0)];
      greatest = l > greatest ? l : greatest;
      least = l < least ? l : least;
    }
    seen = greatest < T(in.m - 1) ? long(greatest) + 1 : in.m;
    by_all = in.slope ? 0 : least < T(in.m - 1) ? long(least < T(-1) ? T(-1) : least) + 1 : in.m;
  }
  if (!seen) memset(sum, 0, sizeof(T) * in.p * width);
  if (seen > kKeys) memset(lost, 0, sizeof(T) * in.p * width);
  static constexpr T zeros[kKeys] = {};
  Vector<T> top[A], mass[A] = {}, lost_mass[A] = {};
  for (int i = 0; i < A; i++) top[i] = all(nothing);
  for (long j0 = 0; j0 < seen; j0 += kKeys) {
    const long count = seen - j0 < kKeys ? seen - j0 : kKeys;
    multiply<T, A>(queries, in.keys + j0, 1, in.m, count, in.d, in.bias ? in.bias + j0 : zeros, in.scale, e,
                   nullptr);
    if (in.last && j0 + count > by_all) hide_unseen<T, A>(e, last, in.slope ? *in.slope : T(0), j0, count);
    Vector<T> base[A];
    for (int i = 0; i < A; i++) base[i] = top[i];
    for (long j = 0; j < count; j++)
#pragma GCC unroll 4
      for (int i = 0; i < A; i++) base[i] = at(e, j * A + i) > base[i] ? at(e, j * A + i) : base[i];
    for (int i = 0; i < A; i++) {
      const Vector<T> before = top[i];
      top[i] = base[i];
      base[i] = base[i] == nothing ? Vector<T>{} : base[i];  // no key so far
      if (!j0) continue;
      const Vector<T> scale = exponential<T>(before - base[i]);
      mass[i] *= scale, lost_mass[i] *= scale;
      for (long c = 0; c < 2 * in.p; c++) at(sum, c * A + i) *= scale;  // the rounding errors are stored after the sums
    }
    Vector<T> more[A] = {};
    for (long j = 0; j < count; j++)
#pragma GCC unroll 4
      for (int i = 0; i < A; i++) more[i] += at(e, j * A + i) = exponential<T>(at(e, j * A + i) - base[i]);
    for (int i = 0; i < A; i++)
      if (j0) add<T>(mass[i], lost_mass[i], more[i]);
      else mass[i] = more[i];
    if (in.p) multiply<T, A>(e, in.values + j0, in.m, 1, in.p, count, nullptr, T(1), sum, j0 ? lost : nullptr);
  }
  if (in.mean)
    for (int i = 0; i < A; i++) {
      const Vector<T> share = mass[i] == T(0) ? Vector<T>{} : T(1) / mass[i];
      for (long c = 0; c < in.p; c++) at(sum, c * A + i) *= share;
    }
  for (long c = 0; c < in.p; c++)
    if (own == width) memcpy(in.num + c * in.n + first, sum + c * width, sizeof(T) * width);
    else memcpy(in.num + c * in.n + first, sum + c * width, sizeof(T) * own);
  memcpy(in.mass + first, mass, sizeof(T) * own);
  memcpy(in.top + first, top, sizeof(T) * own);
}

// The parsed frame of a call. Results have leading axes of clouds, tokens last; so have arguments, with length 1 along
// axes whose clouds share them. An empty argument counts as absent.
template <class T> struct Call {
  XLA_FFI_CallFrame* frame;
  const XLA_FFI_Buffer& argument(int k) const { return *static_cast<XLA_FFI_Buffer*>(frame->args.args[k]); }
  const XLA_FFI_Buffer& made(int k) const { return *static_cast<XLA_FFI_Buffer*>(frame->rets.rets[k]); }
  T* result(int k) const { return static_cast<T*>(made(k).data); }
  long size(int k, int back) const { return argument(k).dims[argument(k).rank - back]; }
  bool none(int k) const { return size(k, 1) == 0; }
  bool is(int k, long count) const { return size(k, 1) == count; }
  bool is(int k, long rows, long columns) const { return size(k, 2) == rows && size(k, 1) == columns; }
  long count() const {
    long clouds = 1;
    for (long axis = 0; axis < made(0).rank - 2; axis++) clouds *= made(0).dims[axis];
    return clouds;
  }
  // Argument k of one cloud; the argument has so many axes besides those of the clouds.
  const T* of(int k, int axes, long cloud) const {
    const XLA_FFI_Buffer& a = argument(k);
    if (none(k)) return nullptr;
    long stride = 1, index = 0;
    for (long axis = a.rank - 1; axis >= 0; axis--) {
      if (axis < a.rank - axes) {
        const long all = made(0).dims[axis];
        if (a.dims[axis] > 1) index += cloud % all * stride;
        cloud /= all;
      }
      stride *= a.dims[axis];
    }
    return static_cast<const T*>(a.data) + index;
  }
};

static XLA_FFI_Error* failure(XLA_FFI_CallFrame* frame, XLA_FFI_Error_Code code, const char* message) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}
static XLA_FFI_Error* no_memory(XLA_FFI_CallFrame* frame) {
  return failure(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "no memory for a tile of pairs");
}
static bool succeeded(XLA_FFI_CallFrame* frame, XLA_FFI_Error* error) {
  if (!error) return true;
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  frame->api->XLA_FFI_Error_Destroy(&args);
  return false;
}
static XLA_FFI_Error* no_agreement(XLA_FFI_CallFrame* frame) {
  return failure(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "the shapes of the arrays do not agree");
}

template <class T> long tile_space(long d, long p) { return (d + kKeys + 2 * p + 1) * kAcross * kLanes<T>; }

template <class T> T* new_space(long numbers) {
  return static_cast<T*>(aligned_alloc(kBytes, (numbers * sizeof(T) + kBytes - 1) / kBytes * kBytes));
}

template <class T> constexpr long kWidth = kAcross * kLanes<T>;  // queries in a tile
template <class T> long tiles(long n) { return (n + kWidth<T> - 1) / kWidth<T>; }

template <class T> void sum_tile(const Cloud<T>& in, long number) {
  const long first = number * kWidth<T>;
  if (in.n - first <= kLanes<T>) tile<T, 1>(in, first);
  else tile<T, kAcross>(in, first);
}

template <class T> void sum_pairs(const Cloud<T>& in) {
  for (long k = 0; k < tiles<T>(in.n); k++) sum_tile<T>(in, k);
}

// Rough cost of pairs, in multiply-adds of a vector: an exponential costs a dozen.
template <class T> double cost_of(double pairs, long d, long p) { return pairs * (d + p + 12) / kLanes<T>; }

// The least work (some 20 microseconds) for which a thread is woken: waking it takes up to ten.
constexpr double kWorthwhile = 60000;
constexpr int kLooks = 20000;  // polls of a cached number before a thread sleeps: about as long

// Pieces of work that threads take one after the other. XLA may call the kernel from a thread of its pool while all
// others are busy, so the caller does not wait for threads to start: it takes pieces until none is left, and then waits
// for the pieces in progress. A thread that starts too late gets no piece and leaves; the last to leave frees this.
template <class T> struct Shared {
  void (*const run)(const void* work, long piece, T* space);
  const void* const work;  // owned by the caller; only read by threads with a piece
  const long pieces, numbers;  // numbers: the scratch space of a thread
  std::atomic<long> next{0}, done{0}, present;
  std::mutex mutex;
  std::condition_variable finished;

  Shared(void (*run)(const void*, long, T*), const void* work, long pieces, long numbers, long threads)
      : run(run), work(work), pieces(pieces), numbers(numbers), present(threads) {}

  void take(T* space) {
    for (long piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      run(work, piece, space);
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < pieces) continue;
      std::lock_guard<std::mutex> lock(mutex);
      finished.notify_one();
    }
  }
  // The other threads usually finish soon: sleeping and waking would take longer.
  void wait() {
    for (int look = 0; look < kLooks; look++)
      if (done.load(std::memory_order_acquire) == pieces) return;
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, [this] { return done.load(std::memory_order_acquire) == pieces; });
  }
  void leave(long threads = 1) {
    if (present.fetch_sub(threads, std::memory_order_acq_rel) == threads) delete this;
  }
  static void help(void* data) {
    auto* shared = static_cast<Shared*>(data);
    if (shared->next.load(std::memory_order_relaxed) < shared->pieces)
      if (T* space = new_space<T>(shared->numbers)) {
        shared->take(space);
        free(space);
      }
    shared->leave();
  }
};

// The threads of XLA's pool; none if it has no pool.
static long pool_size(XLA_FFI_CallFrame* frame) {
  int64_t threads = 0;
  XLA_FFI_ThreadPool_NumThreads_Args args = {XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE, nullptr, frame->ctx, &threads};
  return succeeded(frame, frame->api->XLA_FFI_ThreadPool_NumThreads(&args)) ? threads : 0;
}

// Calls work(piece, space) for every piece; `cost` is that of all. False without memory.
template <class T, class Work>
bool share(XLA_FFI_CallFrame* frame, long pieces, double cost, long numbers, const Work& work) {
  T* space = new_space<T>(numbers);
  if (!space) return false;
  long threads = long(std::min(double(pieces), cost / kWorthwhile));
  if (threads > 1) threads = std::min(threads, pool_size(frame));
  const auto run = [](const void* work, long piece, T* space) { (*static_cast<const Work*>(work))(piece, space); };
  auto* shared = threads > 1 ? new (std::nothrow) Shared<T>(run, &work, pieces, numbers, threads) : nullptr;
  if (!shared) {
    for (long piece = 0; piece < pieces; piece++) work(piece, space);
  } else {
    long others = threads - 1;
    for (; others > 0; others--) {
      XLA_FFI_ThreadPool_Schedule_Args args = {XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                               Shared<T>::help, shared};
      if (!succeeded(frame, frame->api->XLA_FFI_ThreadPool_Schedule(&args))) break;
    }
    shared->take(space);
    shared->wait();
    shared->leave(1 + others);  // threads that could not be scheduled leave with the caller
  }
  free(space);
  return true;
}

// Arguments: queries, keys, bias, values, last, slope. Results: num, mass, top.
template <class T> XLA_FFI_Error* pair_sums(XLA_FFI_CallFrame* frame) {
  const Call<T> call = {frame};
  const long d = call.size(0, 2), n = call.size(0, 1), m = call.size(1, 1), p = call.size(3, 2);
  const bool agree = call.is(1, d, m) && (call.none(2) || call.is(2, m)) && call.is(3, p, m) &&
                     (call.none(4) || call.is(4, n)) && (call.none(5) || call.is(5, 1));
  if (!agree) return no_agreement(frame);
  const long each = tiles<T>(n), count = call.count() * each;
  const double cost = cost_of<T>(double(call.count()) * n * m, d, p) * (call.none(4) ? 1 : 0.5);
  const auto piece = [&](long number, T* space) {
    const long c = number / each;
    sum_tile<T>({n, m, d, p, T(1), call.of(0, 2, c), call.of(1, 2, c), call.of(2, 1, c), call.of(3, 2, c),
                 call.of(4, 1, c), call.of(5, 1, c), false, call.result(0) + c * p * n, call.result(1) + c * n,
                 call.result(2) + c * n, space},
                number % each);
  };
  return share<T>(frame, count, cost, tile_space<T>(d, p), piece) ? nullptr : no_memory(frame);
}

// Many steps of one cloud of self-attention,  y' = V sum_j a_ij y_j,  a_ij ~ e^{beta <y_i, B y_j>},  on the sphere or
// in R^d: the steps of flows/steps.py, in its arithmetic. `ahead` and `weights` of the stages are those of
// flows/tableaux.py; without stages a step is the unprojected force and a retraction.
template <class T> struct Flow {
  long n, d;
  T h, beta;
  long steps, stages;
  const T *ahead, *weights;
  bool sphere, normalized;
  const T *bias, *last, *slope;
  const T *score, *value;  // B and V, (d, d), or null
  T *queries, *values, *num, *mass, *top, *total, *flaw, *space;

  // sum_k a[k] m[k, c] for every coordinate c, or with `transposed` sum_k m[c, k] a[k]
  void apply(const T* matrix, bool transposed, const T* a, T* out) const {
    for (long c = 0; c < d; c++) {
      T* row = out + c * n;
      memset(row, 0, sizeof(T) * n);
      for (long k = 0; k < d; k++) {
        const T number = transposed ? matrix[c * d + k] : matrix[k * d + c];
        for (long i = 0; i < n; i++) row[i] += number * a[k * n + i];
      }
    }
  }

  // <a_i, b_i> of every token, in `mass`, for a vector of tokens at a time, so that the sum stays in a register
  void inner(const T* a, const T* b) const {
    constexpr long L = kLanes<T>;
    long i = 0;
    for (; i + L <= n; i += L) {
      Vector<T> sum = {};
      for (long c = 0; c < d; c++) sum += loaded(a + c * n + i) * loaded(b + c * n + i);
      memcpy(mass + i, &sum, kBytes);
    }
    for (; i < n; i++) {
      mass[i] = T(0);
      for (long c = 0; c < d; c++) mass[i] += a[c * n + i] * b[c * n + i];
    }
  }

  // The square of a token whose own square over- or underflows, after division by a power of two.
  T square_in_range(T* y) const {
    T largest = T(0), sum = T(0);
    for (long c = 0; c < d; c++) largest = std::max(largest, std::abs(y[c * n]));
    if (!(largest > T(0)) || !std::isfinite(largest)) return std::numeric_limits<T>::quiet_NaN();
    for (long c = 0; c < d; c++) y[c * n] = std::scalbn(y[c * n], -std::ilogb(largest));
    for (long c = 0; c < d; c++) sum += y[c * n] * y[c * n];
    return sum;
  }

  void nearest(T* y) const {
    if (!sphere) return;
    inner(y, y);
    constexpr T least = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    for (long i = 0; i < n; i++)
      if (!(mass[i] >= least && mass[i] <= std::numeric_limits<T>::max())) mass[i] = square_in_range(y + i);
    for (long i = 0; i < n; i++) mass[i] = T(1) / std::sqrt(mass[i] != T(0) ? mass[i] : T(1));
    for (long c = 0; c < d; c++)
      for (long i = 0; i < n; i++) y[c * n + i] *= mass[i];
  }

  bool finite(const T* a) const {
    Vector<T> zero = {};  // NaN as soon as an entry is not finite
    const long size = d * n, whole = size - size % kLanes<T>;
    for (long k = 0; k < whole; k += kLanes<T>) zero += loaded(a + k) - loaded(a + k);
    T sum = T(0);
    for (long i = 0; i < kLanes<T>; i++) sum += zero[i];
    for (long k = whole; k < size; k++) sum += a[k] - a[k];
    return sum == T(0);
  }

  // Unseen keys must not change a query: a token that is not finite is replaced as a key, and `flaw`, which is added to
  // the sums, is NaN for this token and for the queries that see it. False if all tokens are finite.
  bool shield(T* y) const {
    if (finite(y) && (!value || finite(values))) return false;
    const T none = std::numeric_limits<T>::quiet_NaN();
    long first = n;  // first key that is not finite
    for (long i = n - 1; i >= 0; i--) {
      bool sound = true;
      for (long k = i; k < d * n; k += n) sound = sound && std::isfinite(y[k]) && (!value || std::isfinite(values[k]));
      flaw[i] = sound ? T(0) : none;
      if (sound) continue;
      if (!bias || bias[i] > -std::numeric_limits<T>::infinity()) first = i;
      for (long k = i; k < d * n; k += n) y[k] = values[k] = queries[k] = k == i ? T(1) : T(0);
    }
    for (long i = 0; i < n; i++)
      if (first < n && (!last || last[i] >= T(first))) flaw[i] = none;
    return true;
  }

  // The force at y, in `num`.
  void force(T* y) {
    if (score) apply(score, false, y, queries);
    if (value) apply(value, true, y, values);
    const bool flawed = shield(y);
    sum_pairs<T>({n, n, d, d, beta, score ? queries : y, y, bias, value ? values : y, last, slope, normalized, num, mass, top,
                  space});
    for (long k = 0; flawed && k < d * n; k++) num[k] += flaw[k % n];
    if (normalized) return;
    for (long i = 0; i < n; i++) mass[i] = std::exp(top[i]);
    for (long c = 0; c < d; c++)
      for (long i = 0; i < n; i++) num[c * n + i] *= mass[i];
  }

  void project(const T* y) {
    if (!sphere) return;
    inner(y, num);
    for (long c = 0; c < d; c++)
      for (long i = 0; i < n; i++) num[c * n + i] -= mass[i] * y[c * n + i];
  }

  // From the state x and its nearest point y to those after one step; with a retraction y is the state.
  void step(T* x, T* y) {
    const long size = d * n;
    if (stages == 0) {
      force(y);
      for (long k = 0; k < size; k++) y[k] += h * num[k];
      return nearest(y);
    }
    memset(total, 0, sizeof(T) * size);
    for (long stage = 0; stage < stages; stage++) {
      const T weight = weights[stage], to_next = h * ahead[stage];
      force(y), project(y);
      for (long k = 0; k < size; k++) total[k] += weight * num[k];
      if (stage + 1 == stages) break;
      for (long k = 0; k < size; k++) y[k] = x[k] + to_next * num[k];
      nearest(y);
    }
    for (long k = 0; k < size; k++) y[k] = x[k] += h * total[k];
    nearest(y);
  }
};

// Arguments: x (clouds, d, n), bias (n), last (n), slope (1), B (d, d), V (d, d), the numbers h, beta and the tableau
// (ahead, then weights), and whole numbers: steps, sphere, normalized. Results: the state, and its nearest point.
template <class T> XLA_FFI_Error* trajectories(XLA_FFI_CallFrame* frame) {
  const Call<T> call = {frame};
  const long d = call.size(0, 2), n = call.size(0, 1), size = d * n;
  const bool agree = (call.none(1) || call.is(1, n)) && (call.none(2) || call.is(2, n)) &&
                     (call.none(3) || call.is(3, 1)) && (call.none(4) || call.is(4, d, d)) &&
                     (call.none(5) || call.is(5, d, d)) && call.size(6, 1) % 2 == 0 && call.is(7, 3);
  if (!agree) return no_agreement(frame);
  const T* numbers = call.of(6, 1, 0);
  const long stages = (call.size(6, 1) - 2) / 2;
  const int32_t* kind = static_cast<const int32_t*>(call.argument(7).data);
  const double cost = cost_of<T>(double(call.count()) * n * n, d, d) * kind[0] * std::max(stages, 1L);
  const auto cloud = [&](long c, T* space) {
    T* rest = space + tile_space<T>(d, d);
    Flow<T> flow = {n, d, numbers[0], numbers[1], kind[0], stages, numbers + 2, numbers + 2 + stages, kind[1] != 0,
                    kind[2] != 0,
                    call.of(1, 1, 0), call.of(2, 1, 0), call.of(3, 1, 0), call.of(4, 2, 0), call.of(5, 2, 0),
                    rest, rest + size, rest + 2 * size, rest + 4 * size, rest + 4 * size + n, rest + 3 * size,
                    rest + 4 * size + 2 * n, space};
    T *x = call.result(0) + c * size, *y = call.result(1) + c * size;
    memcpy(x, call.of(0, 2, c), sizeof(T) * size);
    memcpy(y, x, sizeof(T) * size);
    flow.nearest(y);
    for (long k = 0; k < flow.steps; k++) flow.step(x, y);
    if (flow.stages == 0 && flow.steps > 0) memcpy(x, y, sizeof(T) * size);
  };
  const long space = 4 * size + 3 * n + kLanes<T> + tile_space<T>(d, d);
  return share<T>(frame, call.count(), cost, space, cloud) ? nullptr : no_memory(frame);
}

template <class Work32, class Work64> XLA_FFI_Error* answer(XLA_FFI_CallFrame* frame, Work32 in32, Work64 in64) {
  for (auto* more = frame->extension_start; more; more = more->next)
    if (more->type == XLA_FFI_Extension_Metadata) {  // XLA requests the version that this was compiled for
      auto& version = reinterpret_cast<XLA_FFI_Metadata_Extension*>(more)->metadata->api_version;
      version.major_version = XLA_FFI_API_MAJOR;
      version.minor_version = XLA_FFI_API_MINOR;
      return nullptr;
    }
  const auto dtype = static_cast<XLA_FFI_Buffer*>(frame->args.args[0])->dtype;
  if (dtype != XLA_FFI_DataType_F32 && dtype != XLA_FFI_DataType_F64)
    return failure(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "pair sums take float32 or float64");
  return dtype == XLA_FFI_DataType_F32 ? in32(frame) : in64(frame);
}

extern "C" XLA_FFI_Error* attnflow_pair_sums(XLA_FFI_CallFrame* frame) {
  return answer(frame, pair_sums<float>, pair_sums<double>);
}

extern "C" XLA_FFI_Error* attnflow_trajectories(XLA_FFI_CallFrame* frame) {
  return answer(frame, trajectories<float>, trajectories<double>);
}
