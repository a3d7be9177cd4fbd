#include <gtest/gtest.h>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/merge.h>

namespace lockstep {
namespace {

TEST(Summary, IsKerasTableIn80Columns) {
  const Symbol x = Input({40});
  const Dense shared({.units = 40});
  const Symbol once = shared(x);
  const Symbol y = BatchNormalization()(Concatenate()({shared(once), once}));
  const Network network(x, Dense({.units = 1})(y), 0);
  EXPECT_EQ(network.summary("small"),
            R"(Model: "small"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)             ┃ Output Shape ┃ Param # ┃ Connected to             ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━┩
│ input_layer (InputLayer) │ (None, 40)   │       0 │ -                        │
├──────────────────────────┼──────────────┼─────────┼──────────────────────────┤
│ dense (Dense)            │ (None, 40)   │   1,640 │ input_layer[0][0],       │
│                          │              │         │ dense[0][0]              │
├──────────────────────────┼──────────────┼─────────┼──────────────────────────┤
│ concatenate              │ (None, 80)   │       0 │ dense[1][0], dense[0][0] │
│ (Concatenate)            │              │         │                          │
├──────────────────────────┼──────────────┼─────────┼──────────────────────────┤
│ batch_normalization      │ (None, 80)   │     320 │ concatenate[0][0]        │
│ (BatchNormalization)     │              │         │                          │
├──────────────────────────┼──────────────┼─────────┼──────────────────────────┤
│ dense_1 (Dense)          │ (None, 1)    │      81 │ batch_normalization      │
│                          │              │         │ [0][0]                   │
└──────────────────────────┴──────────────┴─────────┴──────────────────────────┘
 Total params: 2,041 (7.97 KB)
 Trainable params: 1,881 (7.35 KB)
 Non-trainable params: 160 (640.00 B)
)");
}

}  // namespace
}  // namespace lockstep
