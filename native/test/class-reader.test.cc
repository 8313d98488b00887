#include "../classfile/class-reader.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "check.h"
#include "class-builder.h"

using workspace::classfile::ClassReader;
using workspace::classfile::Facts;
using namespace workspace::test;

namespace {

Bytes ofWords(std::initializer_list<unsigned> words) {
  Bytes bytes;
  for (const unsigned word : words) u2(bytes, word);
  return bytes;
}

void instruction(Bytes& to, unsigned opcode, unsigned index) {
  u1(to, opcode);
  u2(to, index);
}

/** A class with nearly every structure, which the tests below cut and change. */
Bytes everything() {
  ClassBuilder made(72);
  Bytes code;
  const unsigned call = made.member(10, "demo/Made", "take", "(Ljava/lang/String;JI)V");
  const unsigned text = made.string("text\xC0\x80");
  const unsigned big = made.long64(1, 2);
  instruction(code, 19, text);       // ldc_w
  instruction(code, 20, big);        // ldc2_w
  instruction(code, 17, 300);        // sipush
  append(code, {0xC4, 0x36, 1, 4});  // wide istore 260
  append(code, {0xC4, 0x15, 1, 4});  // wide iload 260
  instruction(code, 184, call);      // invokestatic
  append(code, {0xC4, 0x84, 1, 4, 0, 1});
  u1(code, 3);  // iconst_0
  u1(code, 0xAA);
  while (code.size() % 4 != 0) u1(code, 0);
  for (const unsigned value : {24U, 5U, 6U, 24U, 24U}) u4(code, value);
  append(code, {0, 0, 0, 0});
  u1(code, 3);
  u1(code, 0xAB);
  const std::size_t lookup = code.size() - 1;
  while (code.size() % 4 != 0) u1(code, 0);
  const auto after = static_cast<unsigned>(code.size() + 16 - lookup);
  for (const unsigned value : {after, 1U, 7U, after}) u4(code, value);
  const unsigned lambda = made.member(11, "demo/Face", "run", "()V");
  const unsigned handle = made.methodHandle(9, lambda);
  const unsigned factory = made.methodHandle(6, made.member(10, "java/lang/invoke/LambdaMetafactory", "metafactory", "()V"));
  instruction(code, 186, made.invokeDynamic(0, "apply", "()Ljava/lang/Runnable;"));
  u2(code, 0);
  instruction(code, 187, made.classConstant("demo/Other"));
  append(code, {200, 0, 0, 0, 5});  // goto_w
  append(code, {168, 0, 3});        // jsr
  append(code, {169, 1, 177});      // ret, return
  const Bytes lines = made.attribute("LineNumberTable", ofWords({2, 0, 7, 3, 8}));
  const Bytes moreLines = made.attribute("LineNumberTable", ofWords({1, 16, 9}));
  const Bytes locals = made.attribute("LocalVariableTable", ofWords({1, 0, 9, made.utf8("named"), made.utf8("I"), 0}));
  made.method("run", "(I)V",
              {made.code(code, {lines, moreLines, locals}, ofWords({0, 3, 0, made.classConstant("demo/Caught")})),
               made.attribute("Exceptions", ofWords({1, made.classConstant("demo/Thrown")}))});
  made.add(made.attribute("BootstrapMethods", ofWords({1, factory, 1, handle})));
  Bytes annotation = ofWords({1, made.utf8("Ldemo/Mark;"), 3, made.utf8("list")});
  append(annotation, {'[', 0, 2, 's'});
  append(annotation, ofWords({made.utf8("a")}));
  append(annotation, {'I'});
  append(annotation, ofWords({made.integer(5), made.utf8("kind")}));
  append(annotation, {'e'});
  append(annotation, ofWords({made.utf8("Ldemo/Kind;"), made.utf8("ONE"), made.utf8("inner")}));
  append(annotation, {'@'});
  append(annotation, ofWords({made.utf8("Ldemo/Inner;"), 0}));
  made.add(made.attribute("RuntimeVisibleAnnotations", annotation));
  made.field("typed", "Ljava/util/List;",
             {made.attribute("Signature", ofWords({made.utf8("Ljava/util/List<+Ldemo/Outer<TT;>.Inner;>;")})),
              made.attribute("ConstantValue", ofWords({big})), made.attribute("Deprecated", {})});
  made.add(made.attribute("Record", ofWords({1, made.utf8("part"), made.utf8("I"), 0})));
  made.add(made.attribute("PermittedSubclasses", ofWords({1, made.classConstant("demo/Sub")})));
  made.add(made.attribute("InnerClasses", ofWords({1, made.classConstant("demo/Made"), made.classConstant("demo"), made.utf8("Made"), 10})));
  made.add(made.attribute("SomethingNew", {1, 2, 3}));
  return made.bytes();
}

struct Read {
  ClassReader reader;
  explicit Read(const Bytes& file) {
    // Exactly as long as the file, so that the sanitizer detects the first read beyond its end.
    const Bytes exact(file);
    reader.read(exact, 0);
  }
  Facts& facts() { return reader.facts(); }
  bool isFaulty() const { return reader.diagnostics().size() == 1; }
  std::string message() const { return reader.diagnostics().empty() ? "" : reader.diagnostics()[0].message; }
};

bool names(const Facts& facts, const workspace::classfile::I32& column, std::string_view wanted) {
  for (const std::int32_t id : column) {
    if (id >= 0 && facts.strings.at(id) == wanted) return true;
  }
  return false;
}

std::size_t rowsOf(Facts& facts) {
  std::size_t rows = 0;
  facts.columns([&rows](const char*, const auto& column) { rows += column.size(); });
  return rows;
}

}  // namespace

TEST("the reader accepts a class of major 72 with nearly every structure") {
  Read read(everything());
  CHECK(read.message().empty());
  Facts& facts = read.facts();
  CHECK(facts.calls.owner.size() == 1);
  CHECK(facts.arguments.kind == (workspace::classfile::U8{5, 2, 1}));
  CHECK(facts.strings.at(facts.arguments.value[0]) == std::string_view("text\0", 5));
  CHECK(facts.arguments.value[1] == 2 && facts.arguments.high[1] == 1);
  CHECK(facts.arguments.value[2] == 300);
  CHECK(facts.calls.line[0] == 9);
  CHECK(facts.typeReferences.line == (workspace::classfile::I32{9, 7}));
  CHECK(facts.dynamicCalls.handleKind[0] == 9);
  CHECK(facts.dynamicCalls.handleIsInterface[0] == 1);
  CHECK(names(facts, facts.references.name, "demo/Outer$Inner"));
  CHECK(names(facts, facts.references.name, "demo/Kind"));
  CHECK(names(facts, facts.parameters.name, "named"));
  CHECK(facts.annotations.type.size() == 2);
  CHECK(facts.classes.traits[0] == 6);
}

TEST("A3 a class cut at any byte produces one diagnostic inside it and no rows") {
  const Bytes whole = everything();
  for (std::size_t length = 0; length < whole.size(); length++) {
    Read read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    CHECK(read.isFaulty());
    CHECK(read.reader.diagnostics()[0].offset <= length);
    CHECK(rowsOf(read.facts()) == 0);
  }
}

TEST("A3 a class with any changed bytes produces facts or one diagnostic") {
  const Bytes whole = everything();
  std::uint64_t state = 20240229;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  int faulty = 0;
  for (int round = 0; round < 30000; round++) {
    Bytes changed = whole;
    for (std::size_t left = 1 + random(4); left > 0; left--) {
      const std::uint8_t extremes[] = {0, 1, 0x7F, 0x80, 0xFF};
      changed[random(changed.size())] = random(2) == 0 ? extremes[random(5)] : static_cast<std::uint8_t>(random(256));
    }
    Read read(changed);
    const std::size_t classes = read.message().starts_with("an attribute is left out: ") || !read.isFaulty() ? 1 : 0;
    CHECK(read.facts().classes.name.size() == classes && read.reader.diagnostics().size() <= 1);
    faulty += read.isFaulty() ? 1 : 0;
  }
  CHECK(faulty > 3000 && faulty < 29000);
}

TEST("an invalid class does not affect the others of its slice") {
  const Bytes whole = everything();
  ClassReader alone;
  alone.read(whole, 0);
  ClassReader reader;
  reader.read(Bytes(whole.begin(), whole.end() - 1), 0);
  reader.read(whole, 1);
  CHECK(reader.diagnostics().size() == 1 && reader.diagnostics()[0].input == 0);
  CHECK(rowsOf(reader.facts()) == rowsOf(alone.facts()));
  CHECK(reader.facts().classes.input[0] == 1);
}

TEST("A3 diagnostics name the invalid part") {
  const auto messageOf = [](const Bytes& instructions) {
    ClassBuilder made;
    made.method("run", "()V", {made.code(instructions)});
    return Read(made.bytes()).message();
  };
  CHECK(messageOf({}).starts_with("code_length is 0"));
  CHECK(messageOf({202}) == "unknown opcode 202");
  CHECK(messageOf({167, 0, 100, 177}).find("outside the code") != std::string::npos);
  CHECK(messageOf({167, 0xFF, 0xFE}).find("outside the code") != std::string::npos);
  // high - low overflows 32 bits.
  CHECK(messageOf({170, 0, 0, 0, 0, 0, 0, 1, 0x80, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}).starts_with("expected 17179869184 more bytes"));
  CHECK(messageOf({171, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF}) == "a switch has -1 cases");
  CHECK(messageOf({196, 177, 0, 0}).starts_with("wide cannot precede"));
  CHECK(messageOf({18, 0}).find("is not a valid loadable constant") != std::string::npos);
  CHECK(messageOf({17, 0}).starts_with("expected 2 more bytes"));

  ClassBuilder badText;
  badText.method("\xF0\x9F\x98\x80", "()V");
  CHECK(Read(badText.bytes()).message().find("not valid modified UTF-8") != std::string::npos);
  ClassBuilder badTag;
  badTag.raw(2, {});
  CHECK(Read(badTag.bytes()).message().find("unknown tag 2") != std::string::npos);
  ClassBuilder badDescriptor;
  badDescriptor.method("run", "(Q)V");
  CHECK(Read(badDescriptor.bytes()).message() == "a method has a malformed descriptor");
  CHECK(Read(ClassBuilder(44).bytes()).message() == "major_version is 44, below 45");
}

TEST("A6 the constants of a switch refer to their enum, also through dynamic constants") {
  ClassBuilder made(65);
  const auto handle = [&made](std::string_view owner, std::string_view name) {
    return made.methodHandle(6, made.member(10, owner, name, "()V"));
  };
  const unsigned invoke = handle("java/lang/invoke/ConstantBootstraps", "invoke");
  const unsigned typeSwitch = handle("java/lang/runtime/SwitchBootstraps", "typeSwitch");
  const unsigned describe = handle("java/lang/constant/ClassDesc", "of");
  const unsigned describeConstant = handle("java/lang/Enum$EnumDesc", "of");
  // A constant of a switch, the class that it is of, and one that is defined by itself.
  const unsigned constant = made.dynamic(1, "invoke", "Ljava/lang/Enum$EnumDesc;");
  const unsigned described = made.dynamic(2, "invoke", "Ljava/lang/constant/ClassDesc;");
  const unsigned endless = made.dynamic(3, "invoke", "Ljava/lang/Object;");
  const unsigned pattern = made.classConstant("demo/Pattern");
  Bytes code;
  instruction(code, 186, made.invokeDynamic(0, "typeSwitch", "()V"));
  u2(code, 0);
  u1(code, 177);
  made.method("run", "()V", {made.code(code)});
  made.add(made.attribute(
      "BootstrapMethods", ofWords({4, typeSwitch, 3, pattern, constant, endless, invoke, 3, describeConstant, described, made.string("A"),
                                   invoke, 2, describe, made.string("demo.Kind$Inner"), invoke, 2, endless, endless})));
  Read read(made.bytes());
  CHECK(read.message().empty());
  const auto& references = read.facts().typeReferences;
  std::vector<std::string_view> names;
  for (const std::int32_t name : references.name) names.push_back(read.facts().strings.at(name));
  CHECK(names == std::vector<std::string_view>({"demo/Pattern", "demo/Kind$Inner"}));
  CHECK(references.opcode[0] == 193 && references.opcode[1] == 193);
}

TEST("A10 annotations of a class that cannot be read are left out and counted") {
  ClassBuilder made;
  for (int i = 0; i < 2000; i++) made.add(made.attribute("RuntimeVisibleAnnotations", {}));
  Read read(made.bytes());
  CHECK(read.facts().classes.name.size() == 1 && read.facts().annotations.type.empty());
  CHECK(read.message().starts_with("an attribute is left out: ") && read.message().ends_with(", and 1999 more"));
}

TEST("A3 endlessly nested annotations produce a diagnostic instead of a crash") {
  ClassBuilder made;
  Bytes nested = ofWords({1, made.utf8("Ldemo/Mark;"), 1, made.utf8("value")});
  for (int i = 0; i < 20000; i++) append(nested, {'[', 0, 1});
  made.add(made.attribute("RuntimeVisibleAnnotations", nested));
  CHECK(Read(made.bytes()).message() == "an attribute is left out: element values are nested deeper than 64");
}

TEST("the reader accepts code that the JVM refuses, with an ever-growing stack") {
  ClassBuilder made;
  Bytes pushes(60000, 4);
  pushes.push_back(177);
  made.method("run", "()V", {made.code(pushes)});
  CHECK(Read(made.bytes()).message().empty());
}

// CPU time of this thread, which the load of the machine does not affect.
double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

TEST("A4 reading takes time proportional to the file's size") {
  const auto timeOf = [](unsigned constants) {
    ClassBuilder made;
    for (unsigned i = 0; i < constants; i++) made.classConstant("a/rather/long/name/of/a/class/Number" + std::to_string(i));
    const Bytes file = made.bytes();
    double best = std::numeric_limits<double>::max();
    for (int round = 0; round < 5; round++) {
      ClassReader reader;
      const double start = threadSeconds();
      reader.read(file, 0);
      best = std::min(best, threadSeconds() - start);
    }
    return best;
  };
  timeOf(8000);
  CHECK(timeOf(32000) < 4 * timeOf(16000));
}
