// The pages of docs/api: one per entry, from the declarations and their doc comments.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { declared, entries, exportsOf, root } from './public-api.ts'

/**
 * A name that several entries export is described on the page of the first of these; the other pages link
 * there.
 */
const order = ['json-schema', 'engines', 'values', 'events', 'work', 'serve', 'views', 'nats']
/** What this many entries export, the root among them, is described on the page of the root. */
const SHARED = 5

interface Item {
  readonly name: string
  readonly symbol: ts.Symbol
  /** The entry whose page describes it. */
  readonly home: string
  /** What names it, if no program can import it. */
  readonly namedBy?: string
  /**
   * Whether a program can import it; other types are described because a public declaration refers to them.
   */
  readonly exported: boolean
}

interface Section extends Item {
  readonly title: string
  /** The page and the heading, for links. */
  readonly page: string
  readonly anchor: string
}

/** The pages by file name, generated from the current sources. */
export function apiPages(program: ts.Program): Map<string, string> {
  const checker = program.getTypeChecker()
  const exported = new Map(entries.map((entry) => [entry, exportsOf(program, entry)]))
  const counts = new Map<ts.Symbol, number>()
  for (const symbol of [...exported.values()].flatMap((all) => [...all.values()]))
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  const ofRoot = new Set(
    [...exported.get('index')!.values()].filter((symbol) => counts.get(symbol)! >= SHARED),
  )
  const items = new Map<ts.Symbol, Item>()
  for (const entry of [...order, ...entries])
    for (const [name, symbol] of exported.get(entry) ?? [])
      if (!items.has(symbol))
        items.set(symbol, { name, symbol, home: ofRoot.has(symbol) ? 'index' : entry, exported: true })
  // A Map iterates in insertion order, so this also reaches the types that it adds.
  for (const { name: namedBy, symbol, home } of items.values())
    for (const type of typesNamedBy(checker, symbol))
      if (!items.has(type)) items.set(type, { name: type.name, symbol: type, home, exported: false, namedBy })

  const pages = new Map(entries.map((entry) => [entry, sectionsOf(entry, [...items.values()])]))
  const places = new Map([...pages.values()].flat(2).map((section) => [section.symbol, section]))
  return new Map(
    entries.map((entry) => {
      const elsewhere = [...exported.get(entry)!.values()]
        .map((symbol) => places.get(symbol)!)
        .filter(({ home }) => home !== entry)
      return [`${entry}.md`, page(checker, entry, pages.get(entry)!, elsewhere, places)]
    }),
  )
}

/**
 * The content of an entry's page: values, types, and types that cannot be imported; each group sorted by
 * name.
 */
function sectionsOf(entry: string, items: readonly Item[]): Section[][] {
  const own = items
    .filter(({ home }) => home === entry)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const isValue = ({ symbol }: Item) => (symbol.flags & ts.SymbolFlags.Value) !== 0
  // Headings that differ only in case share an anchor, and Markdown numbers the later ones.
  const seen = new Map<string, number>()
  return [
    own.filter((item) => item.exported && isValue(item)),
    own.filter((item) => item.exported && !isValue(item)),
    own.filter((item) => !item.exported),
  ].map((group) =>
    group.map((item) => {
      // Two files may each have a type of this name.
      const isShared = group.some((other) => other !== item && other.name === item.name)
      const title = isShared ? `${item.name} of ${item.namedBy}` : item.name
      const slug = title.toLowerCase().replaceAll(' ', '-')
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return { ...item, title, page: `${entry}.md`, anchor: count === 0 ? slug : `${slug}-${count}` }
    }),
  )
}

const titles = ['Functions and values', 'Types', 'Types that cannot be imported']

function page(
  checker: ts.TypeChecker,
  entry: string,
  groups: readonly Section[][],
  elsewhere: readonly Section[],
  places: ReadonlyMap<ts.Symbol, Section>,
): string {
  const parts = [
    `# ${specifier(entry)}`,
    '<!-- scripts/api-pages.ts writes this page from the doc comments in src. Edit those, then run it again. -->',
    introduction(entry),
  ]
  groups.forEach((group, n) => {
    if (group.length === 0) return
    parts.push(`## ${titles[n]}`)
    if (n === 2) parts.push('The declarations above name them.')
    for (const section of group) {
      parts.push(`### ${section.title}`, ...describe(checker, section))
      const named = [...typesNamedBy(checker, section.symbol)]
        .filter((symbol) => symbol !== section.symbol)
        .map((symbol) => link(places.get(symbol)!, `${entry}.md`))
      if (named.length > 0) parts.push(`See ${named.join(', ')}.`)
    }
  })
  if (elsewhere.length > 0) parts.push('## Also exported', elsewhereList(elsewhere))
  return `${parts.join('\n\n')}\n`
}

/** Links to what the entry exports and another page describes, one line for each of those pages. */
function elsewhereList(sections: readonly Section[]): string {
  return entries
    .filter((entry) => sections.some(({ home }) => home === entry))
    .map((entry) => {
      const links = sections.filter(({ home }) => home === entry).map((section) => link(section, ''))
      return `- [${specifier(entry)}](${entry}.md): ${links.sort().join(', ')}`
    })
    .join('\n')
}

function specifier(entry: string): string {
  return entry === 'index' ? 'agent-sluice' : `agent-sluice/${entry}`
}

/** The comment at the top of the entry: `// agent-sluice/values: payloads from text and bytes`. */
function introduction(entry: string): string {
  const [first = ''] = readFileSync(join(root, `src/${entry}.ts`), 'utf8').split('\n')
  const [start, text] = [`// ${specifier(entry)}: `, first.slice(`// ${specifier(entry)}: `.length)]
  if (!first.startsWith(start)) throw new Error(`src/${entry}.ts does not begin with "${start}"`)
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

function link({ name, page, anchor }: Section, from: string): string {
  return `[\`${name}\`](${page === from ? '' : page}#${anchor})`
}

/** The doc comment, the declaration and the examples; for overloads, those of each. */
function describe(checker: ts.TypeChecker, { name, symbol }: Item): string[] {
  const all = declarationsOf(checker, symbol)
  const parts = new Map(all.flatMap((node) => [...functionsNamedBy(checker, node)]))
  // A value that is made of functions is shown as the calls that it takes.
  const shown = parts.size > 0 ? all.filter((node) => parts.has(node)) : all
  return shown.flatMap((node) => {
    const { text, examples } = docOf(node)
    // An export may have another name than its declaration: `AskCall` is `Call` in its own file.
    const own = (parts.has(node) && (node as ts.FunctionDeclaration).name?.text) || symbol.name
    const part = parts.get(node)
    const called = part ? `${name}.${part}` : `$1 ${name}`
    const code = shownCode(checker, node).replace(new RegExp(`^(\\w+) ${own}\\b`), called)
    return [...text, fenced(code), ...examples.flatMap((example) => ['Example:', fenced(example)])]
  })
}

/** The declaration as a page shows it: all words of a type that the compiler makes, in short lines. */
function shownCode(checker: ts.TypeChecker, node: ts.Declaration): string {
  const code = codeOf(checker, node)
  const value = ts.isVariableDeclaration(node) ? node.initializer : undefined
  if (value && ts.isNoSubstitutionTemplateLiteral(value))
    return code.replace(/:.*/s, () => ` = ${value.getText()}`)
  if (ts.isTypeAliasDeclaration(node) && code.includes('keyof typeof'))
    return broken(`type ${node.name.text} = ${typeText(checker, node, ts.TypeFormatFlags.InTypeAlias)}`)
  return ts.isVariableDeclaration(node) && !node.type ? broken(code) : code
}

/** One member on a line, or as many words of a union as fit. */
function broken(code: string): string {
  const members = code
    .replace('{ readonly', '{\n  readonly')
    .replaceAll('; readonly', ';\n  readonly')
    .replace(/; }$/, ';\n}')
  return members.replaceAll(/^.{100,}$/gm, (line) => line.replaceAll(/(.{60,90}) \| /g, '$1\n  | '))
}

/** The compiler lists the words of a union in the order in which it met them, and here they are sorted. */
function typeText(checker: ts.TypeChecker, node: ts.Declaration, flags = ts.TypeFormatFlags.None): string {
  const known = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope
  const text = checker.typeToString(checker.getTypeAtLocation(node), node, known | flags)
  return text.replaceAll(/"[^"]+"(?: \| "[^"]+")+/g, (words) => words.split(' | ').sort().join(' | '))
}

function fenced(code: string): string {
  return code.startsWith('```') ? code : `\`\`\`ts\n${code}\n\`\`\``
}

function docOf(node: ts.Declaration): { text: string[]; examples: string[] } {
  const text: string[] = []
  const examples: string[] = []
  for (const doc of ts.getJSDocCommentsAndTags(node)) {
    const comment = ts.getTextOfJSDocComment(doc.comment)?.trim()
    if (!ts.isJSDoc(doc) || comment === undefined) continue
    text.push(comment)
  }
  for (const tag of ts.getJSDocTags(node)) {
    const comment = ts.getTextOfJSDocComment(tag.comment)?.trim() ?? ''
    if (tag.tagName.text === 'example') examples.push(comment)
    else text.push(`**${tag.tagName.text}**: ${comment}`)
  }
  return { text, examples }
}

/**
 * The public declarations of a symbol, without the body of an overloaded function, but with the functions
 * that `typeof` refers to.
 */
export function declarationsOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Declaration[] {
  const all = symbol.declarations ?? []
  const overloads = all.filter((node) => ts.isFunctionDeclaration(node) && node.body === undefined)
  const shown = overloads.length > 0 ? overloads : all
  return [...shown.flatMap((node) => [...functionsNamedBy(checker, node).keys()]), ...shown]
}

/** The functions that the type of a variable refers to, each with the property that it is, or ``. */
function functionsNamedBy(checker: ts.TypeChecker, variable: ts.Declaration): Map<ts.Declaration, string> {
  const found = new Map<ts.Declaration, string>()
  if (!ts.isVariableDeclaration(variable) || !variable.type) return found
  walk(variable.type, (node) => {
    if (!ts.isTypeQueryNode(node)) return
    const named = checker.getSymbolAtLocation(node.exprName)
    const property = ts.isPropertySignature(node.parent) ? node.parent.name.getText() : ''
    for (const each of (named && declared(checker, named).declarations) ?? [])
      if (ts.isFunctionDeclaration(each)) found.set(each, property)
  })
  return found
}

/** Our interfaces and type aliases that a declaration refers to. */
export function typesNamedBy(checker: ts.TypeChecker, symbol: ts.Symbol): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>()
  for (const declaration of declarationsOf(checker, symbol))
    for (const part of signatureOf(declaration))
      walk(part, (node) => {
        if (!ts.isTypeReferenceNode(node) && !ts.isExpressionWithTypeArguments(node)) return
        const name = ts.isTypeReferenceNode(node) ? node.typeName : node.expression
        const used = checker.getSymbolAtLocation(name)
        const type = used && declared(checker, used)
        const isOurs = type?.declarations?.some(
          (each) =>
            (ts.isInterfaceDeclaration(each) ||
              ts.isTypeAliasDeclaration(each) ||
              ts.isClassDeclaration(each)) &&
            each.getSourceFile().fileName.startsWith(join(root, 'src')),
        )
        if (type && isOurs) found.add(type)
      })
  return found
}

/** The parts of a declaration that a caller sees: everything except bodies and initial values. */
function signatureOf(node: ts.Declaration): readonly ts.Node[] {
  if (ts.isClassDeclaration(node)) return node.members.filter(isVisible).flatMap(signatureOf)
  if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) return node.type ? [node.type] : []
  if (ts.isFunctionLike(node))
    return [...(node.typeParameters ?? []), ...node.parameters, ...(node.type ? [node.type] : [])]
  return [node]
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

/** Members with a computed name are not for people. */
function isVisible(member: ts.ClassElement): boolean {
  return !(member.name && (ts.isComputedPropertyName(member.name) || ts.isPrivateIdentifier(member.name)))
}

/** The declaration as source, without what only the implementation needs. */
export function codeOf(checker: ts.TypeChecker, node: ts.Declaration): string {
  if (ts.isVariableDeclaration(node))
    return `const ${node.name.getText()}: ${node.type?.getText() ?? typeText(checker, node)}`
  if (ts.isClassDeclaration(node)) {
    const heritage = node.heritageClauses?.map((clause) => ` ${clause.getText()}`).join('') ?? ''
    const members = node.members.filter(isVisible).map((member) => `  ${codeOf(checker, member)}`)
    return `class ${node.name?.text}${heritage} {\n${members.join('\n')}\n}`
  }
  return signatureText(checker, node).replace(/^(?:export |declare |async )+/, '')
}

function signatureText(checker: ts.TypeChecker, node: ts.Declaration): string {
  const isCallable = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)
  if (!isCallable && !ts.isConstructorDeclaration(node)) return node.getText()
  const { text } = node.getSourceFile()
  const head = text.slice(node.getStart(), node.body?.getStart() ?? node.end).trim()
  if (!isCallable || node.type) return head
  const signature = checker.getSignatureFromDeclaration(node)
  return signature ? `${head}: ${checker.typeToString(signature.getReturnType())}` : head
}
