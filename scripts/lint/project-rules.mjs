// Rules of this project for oxlint, in JavaScript because oxlint loads them without a build.

const REMEDY = "handle it, report it, or name why it is safe: `ignore('reason')` of src/lib/errors/ignore.ts"

/** Reports each place where an error vanishes without a reason. */
const swallowedErrors = {
  meta: { type: 'problem' },
  create(context) {
    return {
      CallExpression(node) {
        const handler = handlerOf(node)
        if (handler) context.report({ node: handler, message: `This handler swallows an error: ${REMEDY}` })
      },
      CatchClause(node) {
        const { body } = node
        if (body.body.length > 0 || context.sourceCode.getCommentsInside(body).length > 0) return
        context.report({ node, message: 'This block swallows an error: state in a comment why that is safe' })
      },
    }
  },
}

/** Returns the function of a `.catch(f)` or `.then(a, f)` that drops an error, or undefined. */
function handlerOf({ callee, arguments: args }) {
  if (callee.type !== 'MemberExpression' || callee.computed) return undefined
  if (callee.property.name === 'catch') return drops(args[0], isConstant) ? args[0] : undefined
  if (callee.property.name === 'then') return drops(args[1], isNothing) ? args[1] : undefined
  return undefined
}

/** Whether a function does nothing with an error but to return a value that `accepts` accepts. */
function drops(handler, accepts) {
  if (handler?.type !== 'ArrowFunctionExpression' && handler?.type !== 'FunctionExpression') return false
  if (handler.params.length > 0) return false
  const { body } = handler
  if (body.type !== 'BlockStatement') return accepts(body)
  const [first, ...rest] = body.body
  if (first === undefined) return true
  if (rest.length > 0 || first.type !== 'ReturnStatement') return false
  return first.argument === null || accepts(first.argument)
}

/** Whether an expression is `undefined` or `null`. */
function isNothing(expression) {
  const node = bare(expression)
  return (
    (node.type === 'Identifier' && node.name === 'undefined') ||
    (node.type === 'Literal' && node.raw === 'null') ||
    (node.type === 'UnaryExpression' && node.operator === 'void' && isConstant(node.argument))
  )
}

/** Whether an expression only has a value: it calls, awaits, assigns and throws nothing. */
function isConstant(expression) {
  const node = bare(expression)
  switch (node.type) {
    case 'Literal':
    case 'Identifier':
    case 'ThisExpression':
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return true
    case 'TemplateLiteral':
      return node.expressions.every(isConstant)
    case 'UnaryExpression':
      return node.operator !== 'delete' && isConstant(node.argument)
    case 'SpreadElement':
      return isConstant(node.argument)
    case 'MemberExpression':
      return isConstant(node.object) && (!node.computed || isConstant(node.property))
    case 'ArrayExpression':
      return node.elements.every((element) => element === null || isConstant(element))
    case 'ObjectExpression':
      return node.properties.every((property) => isConstant(property.value ?? property))
    case 'NewExpression':
      return node.arguments.every(isConstant)
    case 'BinaryExpression':
    case 'LogicalExpression':
      return isConstant(node.left) && isConstant(node.right)
    case 'ConditionalExpression':
      return [node.test, node.consequent, node.alternate].every(isConstant)
    default:
      return false
  }
}

/** Returns an expression without its parentheses and assertions of a type. */
function bare(node) {
  const wrappers = [
    'ParenthesizedExpression',
    'TSAsExpression',
    'TSSatisfiesExpression',
    'TSNonNullExpression',
  ]
  return wrappers.includes(node.type) ? bare(node.expression) : node
}

export default { meta: { name: 'project' }, rules: { 'swallowed-errors': swallowedErrors } }
