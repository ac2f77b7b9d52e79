package host

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/kith-nearby/kith/actors"
)

// delivery is one message on its way to the actor with that id. The kind of
// actor is the mailbox's. A nil message only wakes the receiver.
type delivery struct {
	id  uint64
	msg actors.Message
}

// chunk is a run of deliveries. It has one owner at a time: the actor that fills
// it, a mailbox, the actor that works on it, a pool.
type chunk struct {
	next  *chunk // in a mailbox
	n     int
	items []delivery // of full length
	size  int        // in chunkSizes
}

// chunkSizes are the lengths of chunks, such that each just fits an allocation
// class (192, 960 and 6144 bytes with its head). Shards use the largest. The
// mailbox of a lone actor begins with the smallest and takes the next larger each
// time that one is full: a message to each of 100,000 cells must not cost 600 MB.
var chunkSizes = [...]int{6, 38, chunkSize}

const (
	chunkSize = 254
	largest   = len(chunkSizes) - 1
)

// chunks lends chunks out, by size. What lies unused goes back at a garbage
// collection.
var chunks = [...]sync.Pool{
	{New: func() any {
		c := new(struct {
			chunk
			room [6]delivery
		})
		c.size, c.items = 0, c.room[:]
		return &c.chunk
	}},
	{New: func() any {
		c := new(struct {
			chunk
			room [38]delivery
		})
		c.size, c.items = 1, c.room[:]
		return &c.chunk
	}},
	{New: func() any {
		c := new(struct {
			chunk
			room [chunkSize]delivery
		})
		c.size, c.items = largest, c.room[:]
		return &c.chunk
	}},
}

func newChunk(size int) *chunk { return chunks[size].Get().(*chunk) }

// free gives c back. It holds on to no message.
func (c *chunk) free() {
	clear(c.items[:c.n])
	c.n, c.next = 0, nil
	chunks[c.size].Put(c)
}

func (c *chunk) full() bool { return c.n == len(c.items) }

func (c *chunk) add(d delivery) {
	c.items[c.n] = d
	c.n++
}

// tally counts deliveries from their posting to the end of the turn that handled
// them. Both counts only rise, and what a turn posts is counted before its own
// deliveries are done: so when the sum of done, read first, equals the sum of
// posted, read after it, there was a moment without work.
type tally struct {
	posted, done atomic.Int64
}

// outcome of posting.
type outcome uint8

const (
	accepted outcome = iota
	refused          // full
	closed           // the mailbox is closed for good
)

// mailbox is an actor's queue, for protoactor. It takes messages from the moment
// it is made and runs its actor only after Start; holds no memory while empty;
// and hands its actor whole chunks.
type mailbox struct {
	tally *tally
	limit int  // 0 = none
	low   int  // the gate opens when depth falls to it
	lean  bool // begin with small chunks
	depth atomic.Int64

	mu         sync.Mutex
	head, tail *chunk
	system     []any
	invoker    actor.MessageInvoker
	starter    actor.Dispatcher // what Start makes the dispatcher
	dispatcher actor.Dispatcher // nil = not started
	running    bool
	suspended  bool
	closing    bool // takes messages, hands out none
	closed     bool
	gate       chan struct{} // closed when depth falls to low; nil = nobody waits
}

// post appends one delivery. force ignores the limit: for what is bounded
// elsewhere, and must arrive.
func (m *mailbox) post(d delivery, force bool) outcome {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return closed
	}
	if m.limit > 0 && !force && m.depth.Load() >= int64(m.limit) {
		m.mu.Unlock()
		return refused
	}
	if m.tail == nil || m.tail.full() {
		m.link(newChunk(m.nextSize()))
	}
	m.tail.add(d)
	m.posted(1)
	m.unlockAndWake()
	return accepted
}

// postChunk appends all deliveries of c and returns an empty chunk to fill next,
// or nil for none. Of a closed mailbox it returns c as it is, and false.
func (m *mailbox) postChunk(c *chunk) (*chunk, bool) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return c, false
	}
	m.posted(c.n)
	if m.tail != nil && m.tail.n+c.n <= len(m.tail.items) {
		m.tail.n += copy(m.tail.items[m.tail.n:], c.items[:c.n])
		m.unlockAndWake()
		clear(c.items[:c.n])
		c.n = 0
		return c, true
	}
	m.link(c)
	m.unlockAndWake()
	return nil, true
}

func (m *mailbox) nextSize() int {
	switch {
	case !m.lean:
		return largest
	case m.tail == nil:
		return 0
	}
	return min(m.tail.size+1, largest)
}

func (m *mailbox) link(c *chunk) {
	if m.tail == nil {
		m.head = c
	} else {
		m.tail.next = c
	}
	m.tail = c
}

func (m *mailbox) posted(n int) {
	m.tally.posted.Add(int64(n))
	m.depth.Add(int64(n))
}

func (m *mailbox) unlockAndWake() {
	wake := m.dispatcher != nil && !m.running && m.runnable()
	if wake {
		m.running = true
	}
	m.mu.Unlock()
	if wake {
		m.dispatcher.Schedule(m.run)
	}
}

func (m *mailbox) runnable() bool {
	return len(m.system) > 0 || (m.head != nil && !m.suspended && !m.closing)
}

// settle says that n deliveries have been handled, and that the actor's own
// backlog has grown by more.
func (m *mailbox) settle(n, more int) {
	m.tally.done.Add(int64(n))
	if m.depth.Add(int64(more-n)) > int64(m.low) {
		return
	}
	m.mu.Lock()
	m.openGate()
	m.mu.Unlock()
}

func (m *mailbox) openGate() {
	if m.gate != nil {
		close(m.gate)
		m.gate = nil
	}
}

// wait returns a channel that is closed once depth is low, or nil if it is not
// above high.
func (m *mailbox) wait(high int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.depth.Load() <= int64(high) {
		return nil
	}
	if m.gate == nil {
		m.gate = make(chan struct{})
	}
	return m.gate
}

// hold keeps what is queued, and what is posted from now on, for finish. What
// is left of the chunk in hand goes first.
func (m *mailbox) hold(rest []delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	if len(rest) == 0 {
		return
	}
	c := newChunk(largest)
	c.n = copy(c.items, rest)
	c.next, m.head = m.head, c
	if m.tail == nil {
		m.tail = c
	}
}

// finish closes the mailbox and returns what is left in it, not yet settled.
func (m *mailbox) finish() []delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.openGate()
	var left []delivery
	for c := m.head; c != nil; {
		next := c.next
		left = append(left, c.items[:c.n]...)
		c.free()
		c = next
	}
	m.head, m.tail = nil, nil
	return left
}

// run is one spell of the actor: until nothing is left to do.
func (m *mailbox) run() {
	defer func() {
		// Cores are recovered further in; this is for a fault of the host itself.
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(r, nil)
			m.mu.Lock()
			m.running = false
			m.unlockAndWake()
		}
	}()
	for turns := 0; ; turns++ {
		if turns >= m.dispatcher.Throughput() {
			turns = 0
			runtime.Gosched()
		}
		system, work := m.take()
		switch {
		case system != nil:
			m.handleSystem(system)
		case work != nil:
			m.invoker.InvokeUserMessage(work)
		default:
			return
		}
	}
}

// take returns what comes next, system messages first. With nothing to do it
// ends the spell.
func (m *mailbox) take() (system any, work *chunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.runnable() {
		m.running = false
		return nil, nil
	}
	if len(m.system) > 0 {
		system = m.system[0]
		if m.system = m.system[1:]; len(m.system) == 0 {
			m.system = nil
		}
		return system, nil
	}
	work = m.head
	if m.head = work.next; m.head == nil {
		m.tail = nil
	}
	work.next = nil
	return nil, work
}

func (m *mailbox) handleSystem(msg any) {
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.suspend(true)
	case *actor.ResumeMailbox:
		m.suspend(false)
	default:
		m.invoker.InvokeSystemMessage(msg)
	}
}

func (m *mailbox) suspend(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = on
}

// PostUserMessage is protoactor's way in, which nobody has: the host keeps the
// PIDs to itself, and posts with post and postChunk.
func (m *mailbox) PostUserMessage(any) {}

// PostSystemMessage queues a message that overtakes all deliveries.
func (m *mailbox) PostSystemMessage(message any) {
	m.mu.Lock()
	m.system = append(m.system, message)
	m.unlockAndWake()
}

// RegisterHandlers keeps what Start will run.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoker, m.starter = invoker, dispatcher
}

// Start lets the actor run. Before it, posting only queues: protoactor makes an
// actor known before its mailbox can run it.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.dispatcher = m.starter
	m.unlockAndWake()
}

// UserMessageCount is the number of deliveries posted and not yet handled.
func (m *mailbox) UserMessageCount() int { return int(m.depth.Load()) }
