#include <algorithm>
#include <string>

#include "code-reader.h"
#include "opcodes.h"

namespace workspace::classfile {

namespace {

/** Nesting of dynamic constants; those of javac reach 2. */
constexpr int maxConstantDepth = 4;

}  // namespace

void CodeReader::walk(Cursor code) {
  std::size_t nextLine = 0;
  line_ = -1;
  while (!code.atEnd()) {
    const std::size_t pc = code.offset() - codeStart_;
    // The last of several lines at one pc counts.
    while (nextLine < lines_.size() && lines_[nextLine].pc <= pc) line_ = lines_[nextLine++].line;
    if (isTarget_[pc] != 0) frame_.startBlock();
    step(code, code.u1());
  }
}

void CodeReader::step(Cursor& code, std::uint8_t opcode) {
  if (opcode >= op::iconst_m1 && opcode <= op::iconst_5) {
    frame_.push({ValueKind::int_, opcode - op::iconst_m1 - 1, 0});
  } else if (opcode >= op::iload_0 && opcode <= op::aload_3) {
    load(static_cast<std::uint8_t>((opcode - op::iload_0) / 4), static_cast<std::uint16_t>((opcode - op::iload_0) % 4));
  } else if (opcode >= op::iload && opcode <= op::aload) {
    load(static_cast<std::uint8_t>(opcode - op::iload), code.u1());
  } else if (opcode >= op::istore_0 && opcode <= op::astore_3) {
    store(static_cast<std::uint8_t>((opcode - op::istore_0) / 4), static_cast<std::uint16_t>((opcode - op::istore_0) % 4));
  } else if (opcode >= op::istore && opcode <= op::astore) {
    store(static_cast<std::uint8_t>(opcode - op::istore), code.u1());
  } else if (opcode >= op::getstatic && opcode <= op::putfield) {
    field(code, opcode);
  } else if (opcode >= op::invokevirtual && opcode <= op::invokeinterface) {
    invoke(code, opcode);
  } else {
    switch (opcode) {
      case op::lconst_0:
      case op::lconst_1:
        return frame_.pushWide({ValueKind::long_, opcode - op::lconst_0, 0});
      case op::fconst_0:
        return frame_.push({ValueKind::float_, 0, 0});
      case op::fconst_0 + 1:
        return frame_.push({ValueKind::float_, 0x3F800000, 0});
      case op::fconst_2:
        return frame_.push({ValueKind::float_, 0x40000000, 0});
      case op::dconst_0:
        return frame_.pushWide({ValueKind::double_, 0, 0});
      case op::dconst_1:
        return frame_.pushWide({ValueKind::double_, 0, 0x3FF00000});
      case op::bipush:
        return frame_.push({ValueKind::int_, static_cast<std::int8_t>(code.u1()), 0});
      case op::sipush:
        return frame_.push({ValueKind::int_, code.s2(), 0});
      case op::ldc:
        return loadConstant(code.u1(), false);
      case op::ldc_w:
        return loadConstant(code.u2(), false);
      case op::ldc2_w:
        return loadConstant(code.u2(), true);
      case op::dup:
        return frame_.duplicate(1, 0);
      case op::dup_x1:
        return frame_.duplicate(1, 1);
      case op::dup_x2:
        return frame_.duplicate(1, 2);
      case op::dup2:
        return frame_.duplicate(2, 0);
      case op::dup2_x1:
        return frame_.duplicate(2, 1);
      case op::dup2_x2:
        return frame_.duplicate(2, 2);
      case op::swap:
        return frame_.swap();
      case op::iinc:
        frame_.forget(code.u1());
        return code.skip(1);
      case op::invokedynamic:
        return invokeDynamic(code);
      case op::wide:
        return wide(code);
      case op::tableswitch:
      case op::lookupswitch:
        // The first pass has checked it; the next block clears the stack.
        code.skip(3 - (code.offset() - 1 - codeStart_) % 4);
        code.skip(4);
        if (opcode == op::tableswitch) {
          const std::int64_t low = code.s4();
          code.skip(static_cast<std::size_t>(code.s4() - low + 1) * 4);
        } else {
          code.skip(static_cast<std::size_t>(code.s4()) * 8);
        }
        return;
      case op::new_:
      case op::anewarray:
      case op::checkcast:
      case op::instanceof_:
        addTypeReference(code.u2(), opcode, line_);
        break;
      case op::multianewarray:
        addTypeReference(code.u2(), opcode, line_);
        frame_.pop(code.u1());
        return frame_.pushUnknown(1);
      default:
        code.skip(instructions[opcode].length - 1U);
    }
    frame_.pop(instructions[opcode].pops);
    frame_.pushUnknown(instructions[opcode].pushes);
  }
}

void CodeReader::loadConstant(std::uint16_t index, bool isWide) {
  ConstantPool& pool = slice_.pool;
  const auto expect = [&](bool wide) {
    if (wide != isWide) pool.fail(index, isWide ? "constant of two slots" : "constant of one slot");
  };
  switch (pool.tag(index)) {
    case Tag::integer:
      expect(false);
      return frame_.push({ValueKind::int_, pool.firstWord(index), 0});
    case Tag::float_:
      expect(false);
      return frame_.push({ValueKind::float_, pool.firstWord(index), 0});
    case Tag::string:
      expect(false);
      return frame_.push({ValueKind::string, pool.string(index), 0});
    case Tag::class_:
      expect(false);
      addTypeReference(index, op::ldc, line_);
      return frame_.push({ValueKind::class_, pool.className(index), 0});
    case Tag::long_:
      expect(true);
      return frame_.pushWide({ValueKind::long_, pool.secondWord(index), pool.firstWord(index)});
    case Tag::double_:
      expect(true);
      return frame_.pushWide({ValueKind::double_, pool.secondWord(index), pool.firstWord(index)});
    case Tag::methodHandle:
    case Tag::methodType:
      expect(false);
      return frame_.pushUnknown(1);
    case Tag::dynamic:
      return frame_.pushUnknown(isWide ? 2 : 1);
    default:
      pool.fail(index, "loadable constant");
  }
}

void CodeReader::load(std::uint8_t type, std::uint16_t index) {
  // int, long, float, double, reference.
  if (type == 1 || type == 3) return frame_.pushWide(frame_.load(index));
  frame_.push(frame_.load(index));
}

void CodeReader::store(std::uint8_t type, std::uint16_t index) {
  const bool isWide = type == 1 || type == 3;
  frame_.store(index, frame_.peek(isWide ? 2 : 1), isWide);
  frame_.pop(isWide ? 2 : 1);
}

void CodeReader::wide(Cursor& code) {
  const std::size_t offset = code.offset();
  const std::uint8_t opcode = code.u1();
  const std::uint16_t index = code.u2();
  if (opcode >= op::iload && opcode <= op::aload) {
    load(static_cast<std::uint8_t>(opcode - op::iload), index);
  } else if (opcode >= op::istore && opcode <= op::astore) {
    store(static_cast<std::uint8_t>(opcode - op::istore), index);
  } else if (opcode == op::iinc) {
    frame_.forget(index);
    code.skip(2);
  } else if (opcode != op::ret) {
    throw ClassFormatError(offset, "wide cannot precede opcode " + std::to_string(opcode));
  }
}

void CodeReader::field(Cursor& code, std::uint8_t opcode) {
  const std::uint16_t index = code.u2();
  if (slice_.pool.tag(index) != Tag::fieldref) slice_.pool.fail(index, "Fieldref");
  const MemberRef member = slice_.pool.member(index);
  const unsigned slots = slice_.require(member.descriptor, false, code.offset() - 2).resultSlots;
  const bool isStatic = opcode == op::getstatic || opcode == op::putstatic;
  const bool isPut = opcode == op::putstatic || opcode == op::putfield;
  frame_.pop((isPut ? slots : 0) + (isStatic ? 0 : 1));
  if (!isPut) frame_.pushUnknown(slots);
  auto& table = slice_.facts.fieldAccesses;
  table.owner.push_back(member.owner);
  table.name.push_back(member.name);
  table.descriptor.push_back(member.descriptor);
  table.opcode.push_back(opcode);
  table.line.push_back(line_);
}

void CodeReader::invoke(Cursor& code, std::uint8_t opcode) {
  const std::uint16_t index = code.u2();
  if (opcode == op::invokeinterface) code.skip(2);
  if (slice_.pool.tag(index) == Tag::fieldref) slice_.pool.fail(index, "method");
  const MemberRef member = slice_.pool.member(index);
  const Descriptor descriptor = slice_.require(member.descriptor, true, code.offset());
  auto& table = slice_.facts.calls;
  table.owner.push_back(member.owner);
  table.name.push_back(member.name);
  table.descriptor.push_back(member.descriptor);
  table.opcode.push_back(opcode);
  table.isInterface.push_back(member.isInterface ? 1 : 0);
  table.line.push_back(line_);
  table.firstArgument.push_back(static_cast<std::int32_t>(slice_.facts.arguments.index.size()));
  addArguments(descriptor);
  frame_.pop(descriptor.parameterSlots + (opcode == op::invokestatic ? 0U : 1U));
  frame_.pushUnknown(descriptor.resultSlots);
}

void CodeReader::addArguments(const Descriptor& descriptor) {
  unsigned below = descriptor.parameterSlots;
  std::uint8_t index = 0;
  for (const std::uint8_t slots : slice_.descriptors.parameters(descriptor)) {
    const Value value = frame_.peek(below);
    if (value.kind != ValueKind::unknown && value.isWide() == (slots == 2)) {
      auto& table = slice_.facts.arguments;
      table.index.push_back(index);
      table.kind.push_back(static_cast<std::uint8_t>(value.kind));
      table.value.push_back(value.low);
      table.high.push_back(value.high);
    }
    below -= slots;
    index++;
  }
}

void CodeReader::invokeDynamic(Cursor& code) {
  const std::size_t offset = code.offset();
  const std::uint16_t index = code.u2();
  code.skip(2);
  if (slice_.pool.tag(index) != Tag::invokeDynamic) slice_.pool.fail(index, "InvokeDynamic");
  const DynamicRef site = slice_.pool.dynamic(index);
  const Descriptor descriptor = slice_.require(site.descriptor, true, offset);
  const BootstrapMethod& bootstrap = bootstrapOf(site, offset);
  const MemberRef bootstrapMember = slice_.pool.methodHandle(bootstrap.handle).member;
  MethodHandle handle{0, {-1, -1, -1, false}};
  if (bootstrap.implementation != 0) handle = slice_.pool.methodHandle(bootstrap.implementation);
  auto& table = slice_.facts.dynamicCalls;
  table.name.push_back(site.name);
  table.descriptor.push_back(site.descriptor);
  table.bootstrapOwner.push_back(bootstrapMember.owner);
  table.bootstrapName.push_back(bootstrapMember.name);
  table.handleKind.push_back(handle.kind);
  table.handleIsInterface.push_back(handle.member.isInterface ? 1 : 0);
  table.handleOwner.push_back(handle.member.owner);
  table.handleName.push_back(handle.member.name);
  table.handleDescriptor.push_back(handle.member.descriptor);
  table.line.push_back(line_);
  addTypesOfSite(bootstrapMember, bootstrap, descriptor);
  frame_.pop(descriptor.parameterSlots);
  frame_.pushUnknown(descriptor.resultSlots);
}

const BootstrapMethod& CodeReader::bootstrapOf(const DynamicRef& site, std::size_t offset) const {
  if (site.bootstrapMethod >= bootstraps_->methods.size()) {
    throw ClassFormatError(offset, "bootstrap method does not exist: " + std::to_string(site.bootstrapMethod));
  }
  return bootstraps_->methods[site.bootstrapMethod];
}

void CodeReader::addTypesOfSite(const MemberRef& bootstrapMember, const BootstrapMethod& bootstrap, const Descriptor& descriptor) {
  const std::string_view owner = slice_.facts.strings.at(bootstrapMember.owner);
  // Their arguments describe the class that contains the call.
  if (owner == "java/lang/runtime/ObjectMethods" || owner == "java/lang/invoke/StringConcatFactory") return;
  // Patterns of a switch, and the marker interfaces of a cast lambda.
  const std::uint8_t opcode = owner == "java/lang/runtime/SwitchBootstraps"  ? op::instanceof_
                              : owner == "java/lang/invoke/LambdaMetafactory" ? op::checkcast
                                                                              : op::ldc;
  // Its arguments are the names of constants.
  if (opcode == op::instanceof_ && slice_.facts.strings.at(bootstrapMember.name) == "enumSwitch") {
    for (const std::int32_t name : slice_.descriptors.classes(descriptor)) addNamedReference(name, opcode, line_);
  }
  addBootstrapTypes(bootstrap, opcode, 0);
}

void CodeReader::addBootstrapTypes(const BootstrapMethod& bootstrap, std::uint8_t opcode, int depth) {
  ConstantPool& pool = slice_.pool;
  for (std::uint16_t i = 0; i < bootstrap.argumentCount && argumentsLeft_ > 0; i++) {
    argumentsLeft_--;
    const std::uint16_t argument = bootstraps_->arguments[bootstrap.firstArgument + i];
    if (pool.tag(argument) == Tag::class_) addTypeReference(argument, opcode, line_);
    if (pool.tag(argument) != Tag::dynamic || depth == maxConstantDepth) continue;
    const DynamicRef constant = pool.dynamic(argument);
    if (constant.bootstrapMethod >= bootstraps_->methods.size()) continue;
    const BootstrapMethod& inner = bootstraps_->methods[constant.bootstrapMethod];
    addDescribedClass(inner, opcode);
    addBootstrapTypes(inner, opcode, depth + 1);
  }
}

void CodeReader::addDescribedClass(const BootstrapMethod& bootstrap, std::uint8_t opcode) {
  if (bootstrap.argumentCount != 2) return;
  ConstantPool& pool = slice_.pool;
  const std::uint16_t factory = bootstraps_->arguments[bootstrap.firstArgument];
  const std::uint16_t text = bootstraps_->arguments[bootstrap.firstArgument + 1];
  if (pool.tag(factory) != Tag::methodHandle || pool.tag(text) != Tag::string) return;
  const MemberRef member = pool.methodHandle(factory).member;
  if (slice_.facts.strings.at(member.owner) != "java/lang/constant/ClassDesc" || slice_.facts.strings.at(member.name) != "of") return;
  std::string name(slice_.facts.strings.at(pool.string(text)));
  std::replace(name.begin(), name.end(), '.', '/');
  const std::int32_t id = slice_.facts.strings.intern(name);
  addNamedReference(id, opcode, line_);
  slice_.addReference(id);
}

void CodeReader::addNamedReference(std::int32_t name, std::uint8_t opcode, std::int32_t line) {
  auto& table = slice_.facts.typeReferences;
  table.name.push_back(name);
  table.opcode.push_back(opcode);
  table.line.push_back(line);
}

void CodeReader::addTypeReference(std::uint16_t index, std::uint8_t opcode, std::int32_t line) {
  addNamedReference(slice_.pool.className(index), opcode, line);
}

}  // namespace workspace::classfile
