import { byId, onPress } from './element.ts'

/** Where the head of a run would take a large part of the window. */
const small = matchMedia('(max-width: 640px), (max-height: 560px)')

/**
 * Lets the head scroll away in a small window, all but its first line, and brings it back at the start of the
 * conversation. What the reader looks at does not move: the conversation is scrolled by what its top moves.
 */
export function letHeadAway(): { show(): void } {
  const head = byId('head')
  const box = byId('conversation')
  let before = 0
  let isAway = false

  const turn = (away: boolean) => {
    const { offsetHeight } = head
    isAway = away
    head.classList.toggle('away', away)
    before = box.scrollTop + head.offsetHeight - offsetHeight
    box.scrollTop = before
  }
  const show = () => {
    if (isAway) turn(false)
  }
  box.addEventListener(
    'scroll',
    () => {
      const { scrollTop } = box
      const isDown = scrollTop > before
      before = scrollTop
      if (scrollTop < 1) show()
      // A reader who types in the head, or opened it, has it until the focus is elsewhere.
      const used = head.contains(document.activeElement)
      if (!isAway && small.matches && isDown && !used && scrollTop > head.offsetHeight) turn(true)
    },
    { passive: true },
  )
  small.addEventListener('change', show)
  onPress('more-head', () => {
    show()
    byId('to-bytes').focus()
  })
  return { show }
}
