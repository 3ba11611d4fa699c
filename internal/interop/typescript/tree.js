// The tree that is served, and what happens to it.
import { appendFile, mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const notes = '# Notes\n\nÜbersicht, 日本語\n'

// pixel is no UTF-8, so that it travels as a blob.
export const pixel = Buffer.from('89504e470d0a1a0a00fffe', 'hex')

// Tree is small at the top, and has more files than two pages of the list hold.
export class Tree {
  // plant returns a tree that is removed when the test ends.
  static async plant(test) {
    const tree = new Tree()
    tree.root = await realpath(await mkdtemp(path.join(tmpdir(), 'tree')))
    test.after(() => rm(tree.root, { recursive: true }))
    await mkdir(tree.path('docs/deep'), { recursive: true })
    await mkdir(tree.path('many'))
    await writeFile(tree.path('notes.md'), notes)
    await writeFile(tree.path('other.md'), 'other\n')
    await writeFile(tree.path('pixel.png'), pixel)
    await writeFile(tree.path('docs/guide.md'), 'guide\n')
    await writeFile(tree.path('docs/deep/leaf.txt'), 'leaf\n')
    for (let i = 0; i < 600; i++) await writeFile(tree.path(`many/${i}.txt`), 'one of many\n')
    return tree
  }

  path(name) {
    return path.join(this.root, ...name.split('/'))
  }

  // names returns the names of all files, as the list spells them, in order.
  async names() {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(this.root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
      .sort()
  }

  // append writes to a file in place, once.
  append(name, more) {
    return appendFile(this.path(name), more)
  }

  // save replaces a file as many editors do: by renaming a new one over it. The new one's first name is hidden, so that
  // no delay between the two steps can make it a file of the list.
  async save(name, content) {
    const file = this.path(name)
    const temporary = path.join(path.dirname(file), `.${path.basename(file)}.new`)
    await writeFile(temporary, content)
    await rename(temporary, file)
  }

  create(name, content) {
    return writeFile(this.path(name), content, { flag: 'wx' })
  }

  remove(name) {
    return rm(this.path(name))
  }
}
