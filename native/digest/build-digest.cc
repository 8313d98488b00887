#include <tuple>
#include <utility>
#include <vector>

#include "../classfile/access-flags.h"
#include "../classfile/class-reader.h"
#include "../classfile/opcodes.h"
#include "digest-names.h"
#include "digest.h"
#include "group-rows.h"
#include "method-handles.h"
#include "pair-ids.h"
#include "rows.h"
#include "use-counter.h"

namespace workspace::digest {

namespace {

using classfile::Facts;

using classfile::accSynthetic;

// JVMS table 4.1-B.
constexpr std::uint16_t publicPrivateProtectedStatic = 0x000f;
/** Maximum count of one row. */
constexpr std::uint8_t mostTimes = 0xff;

class DigestBuilder {
 public:
  explicit DigestBuilder(const Facts& facts) : facts_(facts), names_(facts.strings, digest_.strings) { findMethodReferences(); }

  // In the order in which the reference implementation meets strings, so that ids are equal.
  Digest build() {
    addClasses();
    addMethods();
    addAnnotations();
    addUses();
    addCallees();
    return std::move(digest_);
  }

 private:
  std::size_t classCount() const { return facts_.classes.name.size(); }

  void findMethodReferences() {
    isReference_.resize(facts_.dynamicCalls.name.size());
    isLambda_.resize(facts_.dynamicCalls.name.size());
    for (std::size_t row = 0; row < classCount(); row++) {
      const Rows dynamic(facts_.methods.firstDynamicCall, Rows(facts_.classes.firstMethod, row));
      if (dynamic.begin == dynamic.end) continue;
      const MethodHandles handles(facts_, row);
      for (std::size_t i = dynamic.begin; i < dynamic.end; i++) {
        isReference_[i] = handles.isReference(i);
        isLambda_[i] = handles.isMetafactory(i);
      }
    }
  }

  void addClasses() {
    const auto& from = facts_.classes;
    auto& to = digest_.classes;
    for (const std::int32_t name : from.name) to.name.push_back(names_.idOf(name));
    for (const std::int32_t name : from.superName) to.superName.push_back(names_.idOf(name));
    to.traits = from.traits;
    to.firstInterface = from.firstInterface;
    to.firstMethod = from.firstMethod;
    for (std::size_t row = 0; row < classCount(); row++) {
      to.accessFlags.push_back(realAccess(row));
      to.methodCount.push_back(ownMethods(row));
      const Rows fields(from.firstField, row);
      to.fieldCount.push_back(static_cast<std::uint16_t>(fields.end - fields.begin));
    }
    for (const std::int32_t name : facts_.interfaces.name) digest_.interfaces.name.push_back(names_.idOf(name));
  }

  /**
   * InnerClasses has the visibility and `static` of the source; the class's own flags have neither private nor
   * protected.
   */
  std::uint16_t realAccess(std::size_t row) const {
    const auto& classes = facts_.classes;
    const std::uint16_t own = classes.accessFlags[row];
    const bool isNested = classes.innerName[row] >= 0 || classes.enclosingClass[row] >= 0;
    if (!isNested) return own;
    const int inner = classes.innerAccessFlags[row] & publicPrivateProtectedStatic;
    return static_cast<std::uint16_t>((own & ~publicPrivateProtectedStatic) | inner);
  }

  static bool isMade(std::uint16_t accessFlags) { return (accessFlags & accSynthetic) != 0; }

  /** Number of methods in the class's source, without constructors and static initializers. */
  std::uint16_t ownMethods(std::size_t row) const {
    const Rows methods(facts_.classes.firstMethod, row);
    std::uint16_t count = 0;
    for (std::size_t i = methods.begin; i < methods.end; i++) {
      if (!isMade(facts_.methods.accessFlags[i]) && !names_.isSpecial(facts_.methods.name[i])) count++;
    }
    return count;
  }

  void addMethods() {
    for (const std::int32_t name : facts_.methods.name) digest_.methods.name.push_back(names_.idOf(name));
    for (const std::int32_t descriptor : facts_.methods.descriptor) digest_.methods.returns.push_back(names_.returnOf(descriptor));
    digest_.methods.accessFlags = facts_.methods.accessFlags;
  }

  bool isOnSource(std::size_t annotation) const { return classfile::isOnSource(facts_.annotations.targetKind[annotation]); }

  void addAnnotations() {
    const auto& from = facts_.annotations;
    auto& to = digest_.annotations;
    for (std::size_t owner = 0; owner < classCount(); owner++) {
      const Rows rows(facts_.classes.firstAnnotation, owner);
      for (std::size_t i = rows.begin; i < rows.end; i++) {
        if (!isOnSource(i)) continue;
        to.type.push_back(names_.idOf(from.type[i]));
        to.class_.push_back(static_cast<std::uint16_t>(owner));
        to.row.push_back(static_cast<std::int32_t>(i));
        to.targetKind.push_back(from.targetKind[i]);
        to.target.push_back(from.target[i]);
      }
    }
  }

  /** How often each class uses each type, grouped by type. */
  void addUses() {
    UseCounter counter(mostTimes);
    for (std::size_t row = 0; row < classCount(); row++) {
      countSignatures(row, counter);
      countServices(row, counter);
      countCode(row, counter);
      countOthers(row, counter);
      counter.endClass(row, names_.idOf(facts_.classes.name[row]));
    }
    const auto& rows = counter.rows();
    const Grouped grouped = groupRows(rows.type, digest_.strings.size());
    digest_.types.name = grouped.keys;
    digest_.types.firstUse = grouped.first;
    digest_.uses.class_ = picked(rows.class_, grouped.order);
    digest_.uses.kind = picked(rows.kind, grouped.order);
    digest_.uses.times = picked(rows.times, grouped.order);
  }

  void countSignatures(std::size_t row, UseCounter& counter) {
    const auto& [classes, fields, methods, components] = std::tie(facts_.classes, facts_.fields, facts_.methods, facts_.recordComponents);
    counter.add(names_.idOf(classes.superName[row]), use::extends);
    const Rows interfaces(classes.firstInterface, row);
    for (std::size_t i = interfaces.begin; i < interfaces.end; i++) counter.add(names_.idOf(facts_.interfaces.name[i]), use::implements);
    const Rows ownFields(classes.firstField, row);
    for (std::size_t i = ownFields.begin; i < ownFields.end; i++) {
      const std::uint8_t kind = isMade(fields.accessFlags[i]) ? use::syntheticField : use::field;
      for (const std::int32_t type : names_.typesOfField(fields.descriptor[i], fields.signature[i])) counter.add(type, kind);
    }
    const Rows ownMethods(classes.firstMethod, row);
    for (std::size_t i = ownMethods.begin; i < ownMethods.end; i++) {
      const DigestNames::MethodTypes types = names_.typesOfMethod(methods.descriptor[i], methods.signature[i]);
      const bool isSynthetic = isMade(methods.accessFlags[i]);
      for (const std::int32_t type : types.parameters) counter.add(type, isSynthetic ? use::syntheticParameter : use::parameter);
      for (const std::int32_t type : types.returns) counter.add(type, isSynthetic ? use::syntheticReturn : use::returns);
      if (methods.signature[i] < 0) continue;
      for (const std::int32_t type : names_.typesOfParameters(methods.signature[i])) counter.add(type, use::typeParameter);
    }
    const Rows exceptions(methods.firstException, ownMethods);
    for (std::size_t i = exceptions.begin; i < exceptions.end; i++) counter.add(names_.idOf(facts_.exceptions.name[i]), use::throws_);
    const Rows permitted(classes.firstPermittedSubclass, row);
    for (std::size_t i = permitted.begin; i < permitted.end; i++) counter.add(names_.idOf(facts_.permittedSubclasses.name[i]), use::permits);
    const Rows ownComponents(classes.firstRecordComponent, row);
    for (std::size_t i = ownComponents.begin; i < ownComponents.end; i++) {
      const auto types = names_.typesOfField(components.descriptor[i], components.signature[i]);
      for (const std::int32_t type : types) counter.add(type, use::recordComponent);
    }
    if (classes.signature[row] < 0) return;
    for (const std::int32_t type : names_.typesOfParameters(classes.signature[row])) counter.add(type, use::typeParameter);
    for (const std::int32_t type : names_.typesOfArguments(classes.signature[row])) counter.add(type, use::typeArgument);
  }

  /** Services that a module uses or provides, and their providers. */
  void countServices(std::size_t row, UseCounter& counter) {
    const auto& directives = facts_.moduleDirectives;
    const Rows own(facts_.classes.firstModuleDirective, row);
    for (std::size_t i = own.begin; i < own.end; i++) {
      if (directives.kind[i] != classfile::directive::uses && directives.kind[i] != classfile::directive::provides) continue;
      counter.add(names_.idOf(directives.name[i]), use::service);
      if (directives.kind[i] == classfile::directive::provides) counter.add(names_.idOf(directives.target[i]), use::service);
    }
  }

  void countCode(std::size_t row, UseCounter& counter) {
    const auto& methods = facts_.methods;
    // The methods of a class are consecutive rows, and so are their instructions.
    const Rows own(facts_.classes.firstMethod, row);
    const Rows calls(methods.firstCall, own);
    for (std::size_t i = calls.begin; i < calls.end; i++) {
      const std::int32_t owner = facts_.calls.owner[i];
      // The owner of a constructor call is an INSTANTIATION or the superclass; an array is not a separate class.
      const bool isReceiver = !names_.isConstructor(facts_.calls.name[i]) && !names_.isArray(owner);
      counter.add(names_.elementOf(owner), isReceiver ? use::callReceiver : use::other);
    }
    const Rows accesses(methods.firstFieldAccess, own);
    for (std::size_t i = accesses.begin; i < accesses.end; i++) {
      const std::uint8_t opcode = facts_.fieldAccesses.opcode[i];
      const bool isRead = opcode == classfile::op::getstatic || opcode == classfile::op::getfield;
      counter.add(names_.elementOf(facts_.fieldAccesses.owner[i]), isRead ? use::fieldRead : use::fieldWrite);
    }
    const Rows references(methods.firstTypeReference, own);
    for (std::size_t i = references.begin; i < references.end; i++) {
      counter.add(names_.elementOf(facts_.typeReferences.name[i]), kindOfReference(facts_.typeReferences.opcode[i]));
    }
    const Rows dynamic(methods.firstDynamicCall, own);
    for (std::size_t i = dynamic.begin; i < dynamic.end; i++) {
      if (isReference_[i]) counter.add(names_.elementOf(facts_.dynamicCalls.handleOwner[i]), use::methodReference);
      if (!isLambda_[i]) continue;
      for (const std::int32_t type : names_.typesOfMethod(facts_.dynamicCalls.descriptor[i], -1).returns) counter.add(type, use::lambda);
    }
  }

  static std::uint8_t kindOfReference(std::uint8_t opcode) {
    switch (opcode) {
      case 0:
        return use::catch_;
      case classfile::op::ldc:
        return use::classLiteral;
      case classfile::op::new_:
        return use::instantiation;
      case classfile::op::checkcast:
        return use::cast;
      case classfile::op::instanceof_:
        return use::instanceOf;
      default:
        return use::arrayCreation;
    }
  }

  /** Annotations, and all other mentions in the class file. */
  void countOthers(std::size_t row, UseCounter& counter) {
    const Rows annotations(facts_.classes.firstAnnotation, row);
    for (std::size_t i = annotations.begin; i < annotations.end; i++) {
      counter.add(names_.idOf(facts_.annotations.type[i]), isOnSource(i) ? use::annotation : use::other);
    }
    const Rows references(facts_.classes.firstReference, row);
    for (std::size_t i = references.begin; i < references.end; i++) counter.addIfNew(names_.idOf(facts_.references.name[i]), use::other);
  }

  /** How often each class calls or refers to a method, by its owner and name. */
  void addCallees() {
    for (std::size_t row = 0; row < classCount(); row++) {
      const Rows own(facts_.classes.firstMethod, row);
      const Rows calls(facts_.methods.firstCall, own);
      for (std::size_t i = calls.begin; i < calls.end; i++) addCall(facts_.calls.owner[i], facts_.calls.name[i], row);
      const Rows dynamic(facts_.methods.firstDynamicCall, own);
      for (std::size_t i = dynamic.begin; i < dynamic.end; i++) {
        if (isReference_[i]) addCall(facts_.dynamicCalls.handleOwner[i], facts_.dynamicCalls.handleName[i], row);
      }
    }
    const Grouped grouped = groupRows(callee_, callees_.size());
    for (const std::int32_t owner : callees_.firsts()) digest_.callees.owner.push_back(names_.idOf(owner));
    for (const std::int32_t name : callees_.seconds()) digest_.callees.name.push_back(names_.idOf(name));
    digest_.callees.firstCaller = grouped.first;
    digest_.callers.class_ = picked(caller_, grouped.order);
    digest_.callers.times = picked(times_, grouped.order);
  }

  void addCall(std::int32_t owner, std::int32_t name, std::size_t row) {
    if (owner < 0 || name < 0) return;
    const auto place = static_cast<std::size_t>(callees_.idOf(owner, name));
    if (place == lastRow_.size()) lastRow_.push_back(noRow);
    const std::size_t known = lastRow_[place];
    if (known != noRow && caller_[known] == row && times_[known] < mostTimes) {
      times_[known]++;
      return;
    }
    lastRow_[place] = callee_.size();
    callee_.push_back(static_cast<std::int32_t>(place));
    caller_.push_back(static_cast<std::uint16_t>(row));
    times_.push_back(1);
  }

  static constexpr std::size_t noRow = static_cast<std::size_t>(-1);

  const Facts& facts_;
  Digest digest_;
  DigestNames names_;
  PairIds callees_;
  /** Last row of each callee among the callers. */
  std::vector<std::size_t> lastRow_;
  /**
   * By dynamic call: whether it is a method reference, and whether it creates an object that implements a functional
   * interface.
   */
  std::vector<bool> isReference_, isLambda_;
  I32 callee_;
  U16 caller_;
  U8 times_;
};

}  // namespace

std::string digestLayout() {
  Digest digest;
  return classfile::packedLayout(digest);
}

Digest buildDigest(const Facts& facts) { return DigestBuilder(facts).build(); }

}  // namespace workspace::digest
