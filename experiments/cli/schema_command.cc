#include <fmt/format.h>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/config/config.h"
#include "experiments/config/profile_file.h"
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

int print_schema(bool of_profile, bool as_markdown) {
  const yaml::Shape config = yaml::shape_of<Config>();
  const yaml::Shape profile = yaml::shape_of<ProfileFile>();
  if (as_markdown) {
    fmt::print(fmt::runtime(kPage), chapters(config), yaml::reference(profile, "The profile"));
  } else if (of_profile) {
    fmt::print("{}", yaml::json_schema(profile, "Syncopate hardware profile"));
  } else {
    fmt::print("{}", yaml::json_schema(config, "Syncopate configuration"));
  }
  return kOk;
}

}  // namespace syncopate::experiments::cli
