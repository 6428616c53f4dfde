#include <fmt/format.h>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/config/config.h"
#include "experiments/config/profile_file.h"
#include "experiments/config/sweep_file.h"
#include "experiments/yaml/json_schema.h"
#include "experiments/yaml/reference.h"
#include "experiments/yaml/shape.h"

namespace syncopate::experiments::cli {
namespace {

constexpr const char* kPage =
    R"(<!-- Made by `syncopate schema --markdown`; edit the descriptions, not this page. -->
# Configuration

A configuration is one YAML file: `syncopate run CONFIG`. Every key is below, with its type, the
values that are right, and the value that it has when it is left out. Anything else in the file is an
error that names the place. Rules that bind several keys (such as that only `sim` has a profile) are
checked when the file is read; `syncopate run CONFIG --dry-run` does only that, and shows every value
with where it comes from.

Booleans are `true`, `false`, `on` or `off`; numbers are decimal, without a unit, which the key's name
says. Anchors, aliases, merge keys and tags are refused.

For an editor that knows the YAML language server, make the schema
(`syncopate schema > syncopate.schema.json`) and let the file's first line say so:

```yaml
# yaml-language-server: $schema=./syncopate.schema.json
```

{}
# Hardware profiles

A profile is the YAML file that `runtime.profile` names, such as those in `configs/hardware`. Its
schema is `syncopate schema --profile`.

{}
# Sweeps

A sweep is a YAML file of its own: `syncopate sweep SWEEP` runs the base configuration once for each
point. Its schema is `syncopate schema --sweep`.

```yaml
base: ../hash/async.yaml
set:
  strategy.slots: null  # two for async, else one
axes:
  - grid:
      limits.rows: {{from: 8, to: 32, factor: 2}}
      strategy.kind: [ordered, async]
  - zip:
      limits.tokens: [256, 512]
      scheduler.chunk_tokens: [64, 128]
constraints:
  - require: limits.tokens / limits.rows >= 16 or strategy.kind == ordered
    because: a row has too few tokens
repeats: 3
```

A key is a path into the base, as `--set` takes it: `limits.rows`, `variants.1.schedule`, and
`variants.*.transport` for every item of a list. An axis may refine what `set` gives, but two axes must
not give the same value. Where `runtime.kind` is set to another than `sim`, what only `sim` has is left
out. Paths in values are the base's, from its folder. Unless the base, the sweep or `--set` says
otherwise, `output.log` and `output.tables` are off.

A condition compares values under their keys (`limits.rows`), numbers, and text (`async`, `'async'`) with
`== != < <= > >=`, reckons with `+ - * / %`, and joins with `and`, `or`, `not` and brackets. A key that
was left out has its default; `null` is equal to itself alone.

{})";

/// One for each program.
std::string chapters(const yaml::Shape& config) {
  std::string out;
  for (const yaml::Shape& program : config.options) {
    out += fmt::format("# The program `{}`\n\n{}\n", program.tag.name,
                       yaml::reference(program, "The file"));
  }
  out.pop_back();
  return out;
}

}  // namespace

int print_schema(SchemaOf of) {
  switch (of) {
    case SchemaOf::kConfig:
      fmt::print("{}", yaml::json_schema(yaml::shape_of<Config>(), "Syncopate configuration"));
      break;
    case SchemaOf::kProfile:
      fmt::print("{}",
                 yaml::json_schema(yaml::shape_of<ProfileFile>(), "Syncopate hardware profile"));
      break;
    case SchemaOf::kSweep:
      fmt::print("{}", yaml::json_schema(yaml::shape_of<SweepConfig>(), "Syncopate sweep"));
      break;
  }
  return kOk;
}

int print_reference() {
  fmt::print(fmt::runtime(kPage), chapters(yaml::shape_of<Config>()),
             yaml::reference(yaml::shape_of<ProfileFile>(), "The profile"),
             yaml::reference(yaml::shape_of<SweepConfig>(), "The sweep"));
  return kOk;
}

}  // namespace syncopate::experiments::cli
